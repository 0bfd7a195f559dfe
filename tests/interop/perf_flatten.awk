# perf_flatten.awk - prints a line "TID SECONDS ADDRESS@FILE;..." for each sample of `perf script -F tid,time,ip,dso`, the
# innermost frame first. Frames of files that perf does not know are left out.
function flush() {
	if (sample != "")
		print sample " " frames
	sample = frames = ""
}
/^ *[0-9]+ +[0-9.]+: *$/ {
	flush()
	sub(/:$/, "", $2)
	sample = $1 " " $2
	next
}
# From a pipe, perf prints the function's name as well.
NF >= 2 && $NF != "([unknown])" {
	gsub(/^\(|\)$/, "", $NF)
	frames = frames $1 "@" $NF ";"
}
END { flush() }
