"""Methods as estimators for your own data, in the way of scikit-learn, and refits of equations."""
