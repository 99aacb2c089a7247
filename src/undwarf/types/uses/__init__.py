"""What else a function does with a value, asked where the data flow alone leaves open what is touched."""
