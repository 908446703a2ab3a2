"""From a query to an answer: two legs, then a list of stages."""
