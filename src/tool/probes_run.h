struct orma_probes;
struct orma_loop;
struct orma_probes_options {
	const char *producer_socket, *producer_name;
};
int orma_tool_probes_new(const struct orma_probes_options *, struct orma_probes **ret);
struct orma_loop *orma_tool_probes_loop(struct orma_probes *);
int orma_tool_probes_run(struct orma_probes *);
void orma_tool_probes_stop(struct orma_probes *);
void orma_tool_probes_free(struct orma_probes *);
