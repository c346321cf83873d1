"""Harness of the functional tests: stock dpdk-testpmd processes on both ends of a vhost-user socket."""
