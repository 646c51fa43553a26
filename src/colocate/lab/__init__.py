"""Where programs are evolved: changes in, judged programs out."""
