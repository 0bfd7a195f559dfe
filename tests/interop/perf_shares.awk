# perf_shares.awk - reads lines "function NAME ADDRESS" and then the address of each sample, and prints the number of samples and the
# percentages that the functions five, three and two of perf_shares.c have.
$1 == "function" { begin[$2] = $3 + 0; next }
{
	# The function that begins last before the address.
	best = ""
	for (name in begin)
		if (begin[name] <= $1 && (best == "" || begin[name] > begin[best]))
			best = name
	count[best]++
	all++
}
END { if (all) printf "%d %.1f %.1f %.1f\n", all, 100 * count["five"] / all, 100 * count["three"] / all, 100 * count["two"] / all }
