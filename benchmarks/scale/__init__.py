"""Time, memory and readings from 10^4 rows up."""
