# The lines of a text as the lines of a C string.
s/[\\"]/\\&/g
s/.*/"&\\n"/
