package telemetry

import lt "github.com/org/llm-gate/loadtest"

// engines is the ordered table of dialects.
func engines() []dialect {
	return []dialect{vllm(), sglang(), trtllm(), lmdeploy(), tgi(), llamacpp(), triton(), dynamo()}
}

// vllm: https://docs.vllm.ai/en/latest/design/metrics.html
func vllm() dialect {
	return dialect{
		name:     "vllm",
		prefixes: []string{"vllm:", "vllm_"},
		models:   []string{"model_name"},
		metrics: []metric{
			{name: lt.PrefixQueries, from: names("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total")},
			{name: lt.PrefixHits, from: names("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total")},
			{name: lt.HitRateGauge, from: names("vllm:gpu_prefix_cache_hit_rate")},
			{name: lt.KVUsage, from: names("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")},
			{name: lt.Running, from: names("vllm:num_requests_running")},
			{name: lt.Waiting, from: names("vllm:num_requests_waiting")},
			{name: lt.Preemptions, from: names("vllm:num_preemptions_total")},
			{name: lt.PromptTokens, from: names("vllm:prompt_tokens_total")},
			{name: lt.GenerationTokens, from: names("vllm:generation_tokens_total")},
			{name: lt.SpecDrafts, from: names("vllm:spec_decode_num_drafts_total")},
			{name: lt.SpecDraftTokens, from: names("vllm:spec_decode_num_draft_tokens_total")},
			{name: lt.SpecAcceptedTokens, from: names("vllm:spec_decode_num_accepted_tokens_total")},
		},
		histograms: []histogram{
			{lt.ServerTTFTSum, lt.ServerTTFTCount, []string{"vllm:time_to_first_token_seconds"}},
			{lt.ServerITLSum, lt.ServerITLCount, []string{"vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"}},
			{lt.ServerE2ESum, lt.ServerE2ECount, []string{"vllm:e2e_request_latency_seconds"}},
			{lt.ServerQueueSum, lt.ServerQueueCount, []string{"vllm:request_queue_time_seconds"}},
			{lt.ServerPrefillSum, lt.ServerPrefillCount, []string{"vllm:request_prefill_time_seconds"}},
			{lt.ServerDecodeSum, lt.ServerDecodeCount, []string{"vllm:request_decode_time_seconds"}},
		},
		infos: []info{
			{"vllm:cache_config_info", [][2]string{
				{"block_size", "block_size"}, {"num_gpu_blocks", "num_gpu_blocks"}, {"num_cpu_blocks", "num_cpu_blocks"},
				{"enable_prefix_caching", "enable_prefix_caching"}, {"cache_dtype", "cache_dtype"},
				{"gpu_memory_utilization", "gpu_memory_utilization"}, {"sliding_window", "sliding_window"},
				{"swap_space", "swap_space"}, {"prefix_caching_hash_algo", "prefix_caching_hash_algo"},
			}},
			{"vllm:version_info", [][2]string{{"version", "engine_version"}}},
			{"vllm:build_info", [][2]string{{"version", "engine_version"}}},
		},
	}
}

// sglang: https://docs.sglang.ai/references/production_metrics.html. The
// cached tokens come one series a cache tier, which add up.
func sglang() dialect {
	return dialect{
		name:     "sglang",
		prefixes: []string{"sglang:", "sglang_"},
		models:   []string{"model_name"},
		metrics: []metric{
			{name: lt.PrefixQueries, from: names("sglang:prompt_tokens_total")},
			{name: lt.PrefixHits, from: names("sglang:cached_tokens_total")},
			{name: lt.HitRateGauge, from: names("sglang:cache_hit_rate")},
			{name: lt.KVUsage, from: names("sglang:token_usage")},
			{name: lt.Running, from: names("sglang:num_running_reqs")},
			{name: lt.Waiting, from: names("sglang:num_queue_reqs")},
			{name: lt.Preemptions, from: names("sglang:num_retracted_requests_total")},
			{name: lt.PromptTokens, from: names("sglang:prompt_tokens_total")},
			{name: lt.GenerationTokens, from: names("sglang:generation_tokens_total")},
			{name: lt.SpecAcceptLength, from: names("sglang:spec_accept_length")},
		},
		histograms: []histogram{
			{lt.ServerTTFTSum, lt.ServerTTFTCount, []string{"sglang:time_to_first_token_seconds"}},
			{lt.ServerITLSum, lt.ServerITLCount, []string{"sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"}},
			{lt.ServerE2ESum, lt.ServerE2ECount, []string{"sglang:e2e_request_latency_seconds"}},
			{lt.ServerQueueSum, lt.ServerQueueCount, []string{"sglang:queue_time_seconds"}},
		},
	}
}

// trtllm is trtllm-serve (its page is /prometheus/metrics) and TensorRT-LLM
// behind Dynamo. Its prefix cache counts blocks.
func trtllm() dialect {
	return dialect{
		name:     "trtllm",
		prefixes: []string{"trtllm_", "trtllm:"},
		models:   []string{"model_name"},
		metrics: []metric{
			{name: lt.PrefixQueries, from: []formula{plus("trtllm_kv_cache_reused_blocks_total", "trtllm_kv_cache_missed_blocks_total")}},
			{name: lt.PrefixHits, from: names("trtllm_kv_cache_reused_blocks_total")},
			{name: lt.HitRateGauge, from: names("trtllm_kv_cache_hit_rate")},
			{name: lt.KVUsage, from: names("trtllm_kv_cache_utilization")},
			{name: lt.Running, from: names("trtllm_num_requests_running")},
			{name: lt.Waiting, from: names("trtllm_num_requests_waiting")},
			{name: lt.PromptTokens, from: names("trtllm_prompt_tokens_total")},
			{name: lt.GenerationTokens, from: names("trtllm_generation_tokens_total")},
			{name: lt.SpecDrafts, from: names("trtllm_spec_decode_num_drafts_total")},
			{name: lt.SpecDraftTokens, from: names("trtllm_spec_decode_num_draft_tokens_total", "trtllm_spec_decode_drafted_tokens_total")},
			{name: lt.SpecAcceptedTokens, from: names("trtllm_spec_decode_num_accepted_tokens_total", "trtllm_spec_decode_accepted_tokens_total")},
			{name: lt.SpecAcceptLength, from: names("trtllm_spec_decode_acceptance_length")},
		},
		histograms: []histogram{
			{lt.ServerTTFTSum, lt.ServerTTFTCount, []string{"trtllm_time_to_first_token_seconds"}},
			{lt.ServerITLSum, lt.ServerITLCount, []string{"trtllm_time_per_output_token_seconds"}},
			{lt.ServerE2ESum, lt.ServerE2ECount, []string{"trtllm_e2e_request_latency_seconds"}},
			{lt.ServerQueueSum, lt.ServerQueueCount, []string{"trtllm_request_queue_time_seconds"}},
			{lt.ServerPrefillSum, lt.ServerPrefillCount, []string{"trtllm_request_prefill_time_seconds"}},
			{lt.ServerDecodeSum, lt.ServerDecodeCount, []string{"trtllm_request_decode_time_seconds"}},
		},
	}
}

// lmdeploy: lmdeploy serve api_server --enable-metrics.
func lmdeploy() dialect {
	return dialect{
		name:     "lmdeploy",
		prefixes: []string{"lmdeploy:", "lmdeploy_"},
		models:   []string{"model_name"},
		metrics: []metric{
			{name: lt.PrefixQueries, from: names("lmdeploy:prompt_tokens_total")},
			{name: lt.PrefixHits, from: names("lmdeploy:cached_tokens_total")},
			{name: lt.KVUsage, from: names("lmdeploy:gpu_cache_usage_perc")},
			{name: lt.Running, from: names("lmdeploy:num_requests_running")},
			{name: lt.Waiting, from: names("lmdeploy:num_requests_waiting")},
			{name: lt.PromptTokens, from: names("lmdeploy:prompt_tokens_total")},
			{name: lt.GenerationTokens, from: names("lmdeploy:generation_tokens_total")},
		},
		histograms: []histogram{
			{lt.ServerTTFTSum, lt.ServerTTFTCount, []string{"lmdeploy:time_to_first_token_seconds"}},
			{lt.ServerITLSum, lt.ServerITLCount, []string{"lmdeploy:iter_token_latency", "lmdeploy:time_per_output_token_seconds"}},
			{lt.ServerE2ESum, lt.ServerE2ECount, []string{"lmdeploy:e2e_request_latency_seconds"}},
			{lt.ServerQueueSum, lt.ServerQueueCount, []string{"lmdeploy:request_queue_time_seconds"}},
			{lt.ServerPrefillSum, lt.ServerPrefillCount, []string{"lmdeploy:request_prefill_time_seconds"}},
			{lt.ServerDecodeSum, lt.ServerDecodeCount, []string{"lmdeploy:request_decode_time_seconds"}},
		},
	}
}

// tgi is text-generation-inference, which shows no prefix cache.
func tgi() dialect {
	return dialect{
		name:     "tgi",
		prefixes: []string{"tgi_"},
		models:   []string{"model_name", "model_id"},
		metrics: []metric{
			{name: lt.Waiting, from: names("tgi_queue_size")},
			{name: lt.Running, from: names("tgi_batch_current_size")},
			{name: lt.PromptTokens, from: names("tgi_request_input_length_sum")},
			{name: lt.GenerationTokens, from: names("tgi_request_generated_tokens_sum")},
		},
		histograms: []histogram{
			{lt.ServerE2ESum, lt.ServerE2ECount, []string{"tgi_request_duration"}},
			{lt.ServerQueueSum, lt.ServerQueueCount, []string{"tgi_request_queue_duration"}},
		},
	}
}

// llamacpp is llama-server --metrics. Its prompt tokens are those that were
// computed; those found in the cache are counted apart, so a query is either.
func llamacpp() dialect {
	return dialect{
		name:     "llamacpp",
		prefixes: []string{"llamacpp:", "llamacpp_"},
		metrics: []metric{
			{name: lt.PrefixQueries, from: []formula{plus("llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total")}},
			{name: lt.PrefixHits, from: names("llamacpp:prompt_tokens_cached_total")},
			{name: lt.KVUsage, from: names("llamacpp:kv_cache_usage_ratio")},
			{name: lt.Running, from: names("llamacpp:requests_processing")},
			{name: lt.Waiting, from: names("llamacpp:requests_deferred")},
			{name: lt.PromptTokens, from: []formula{plus("llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total")}},
			{name: lt.GenerationTokens, from: names("llamacpp:tokens_predicted_total")},
			{name: lt.ServerPrefillSum, from: names("llamacpp:prompt_seconds_total")},
			{name: lt.ServerDecodeSum, from: names("llamacpp:tokens_predicted_seconds_total")},
			{name: lt.SpecDrafts, from: names("llamacpp:spec_decode_num_drafts_total")},
			{name: lt.SpecDraftTokens, from: names("llamacpp:spec_decode_num_draft_tokens_total")},
			{name: lt.SpecAcceptedTokens, from: names("llamacpp:spec_decode_num_accepted_tokens_total")},
		},
	}
}

// triton is the TensorRT-LLM backend of Triton Inference Server. The queue
// duration adds up over every model of the ensemble, so no mean over requests
// can be had from it and it has no count.
func triton() dialect {
	const blocks, block = "nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type"
	const requests, request = "nv_trt_llm_request_metrics", "request_type"
	missed := series{blocks, block, "missed"}
	reused := series{blocks, block, "reused"}
	limit := series{blocks, block, "max"}
	return dialect{
		name:     "triton",
		prefixes: []string{"nv_"},
		layer:    true,
		models:   []string{"model"},
		metrics: []metric{
			{name: lt.PrefixQueries, from: []formula{{sum: []series{reused, missed}}}},
			{name: lt.PrefixHits, from: []formula{{sum: []series{reused}}}},
			{name: lt.KVUsage, from: []formula{
				of(blocks, block, "fraction"),
				{sum: []series{{blocks, block, "used"}}, over: &limit},
			}},
			{name: lt.Running, from: []formula{of(requests, request, "scheduled"), of(requests, request, "active")}},
			{name: lt.Waiting, from: []formula{of(requests, request, "waiting"), plus("nv_inference_pending_request_count")}},
			{name: lt.ServerQueueSum, from: names("nv_inference_queue_duration_us"), scale: 1e-6},
		},
	}
}

// dynamo is NVIDIA Dynamo: its frontend, and its workers where they do not
// pass the engine's own metrics through. Running requests are counted by the
// workers and queued ones by the frontend, so that listing both counts none
// twice.
func dynamo() dialect {
	active := series{name: "dynamo_component_kvstats_active_blocks"}
	total := series{name: "dynamo_component_kvstats_total_blocks"}
	return dialect{
		name:     "dynamo",
		prefixes: []string{"dynamo_"},
		layer:    true,
		models:   []string{"model"},
		metrics: []metric{
			{name: lt.HitRateGauge, from: names("dynamo_component_kvstats_gpu_prefix_cache_hit_rate")},
			{name: lt.KVUsage, from: append(
				names("dynamo_component_kvstats_gpu_cache_usage_percent", "dynamo_component_gpu_cache_usage_percent"),
				formula{sum: []series{active}, over: &total},
			)},
			{name: lt.Running, from: names("dynamo_component_inflight_requests")},
			{name: lt.Waiting, from: names("dynamo_frontend_queued_requests")},
			{name: lt.PromptTokens, from: names("dynamo_frontend_input_sequence_tokens_sum")},
			{name: lt.GenerationTokens, from: names("dynamo_frontend_output_tokens_total", "dynamo_frontend_output_sequence_tokens_sum")},
		},
		histograms: []histogram{
			{lt.ServerTTFTSum, lt.ServerTTFTCount, []string{"dynamo_frontend_time_to_first_token_seconds"}},
			{lt.ServerITLSum, lt.ServerITLCount, []string{"dynamo_frontend_inter_token_latency_seconds"}},
			{lt.ServerE2ESum, lt.ServerE2ECount, []string{"dynamo_frontend_request_duration_seconds"}},
		},
	}
}
