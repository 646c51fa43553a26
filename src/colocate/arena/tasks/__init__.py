"""What programs are judged on: cases, rules, a start program and the facts that a prompt tells."""
