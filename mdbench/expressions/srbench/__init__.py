"""The comparison of SRBench: symbolic solutions and edit distances of trees."""
