"""Server requests that the user answers (elicitation, sampling, roots), and rules for them."""
