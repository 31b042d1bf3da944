"""What passes the seam: what is asked, what is answered, and what is drawn of it."""
