"""The lab evolves programs: it takes proposed changes and keeps the judged programs."""
