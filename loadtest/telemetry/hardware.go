package telemetry

import lt "github.com/org/llm-gate/loadtest"

const mebibyte = 1.0 / (1 << 20)

// startTime is when a process began, in seconds since 1970.
const startTime = "process_start_time_seconds"

// hardware is the tables that apply to every page, whatever the engine.
func hardware() []dialect { return []dialect{dcgm(), tritonGPU(), node(), process()} }

// dcgm is NVIDIA's DCGM exporter: memory in MiB, utilisation in percent.
func dcgm() dialect {
	return dialect{
		prefixes: []string{"DCGM_"},
		metrics: []metric{
			{name: lt.GPUMemoryUsed, from: names("DCGM_FI_DEV_FB_USED")},
			{name: lt.GPUMemoryFree, from: names("DCGM_FI_DEV_FB_FREE")},
			{name: lt.GPUMemoryReserved, from: names("DCGM_FI_DEV_FB_RESERVED")},
			{name: lt.GPUUtilization, from: names("DCGM_FI_DEV_GPU_UTIL"), scale: 0.01},
			{name: lt.GPUPower, from: names("DCGM_FI_DEV_POWER_USAGE")},
			{name: lt.GPUTemperature, from: names("DCGM_FI_DEV_GPU_TEMP")},
			{name: lt.GPUClock, from: names("DCGM_FI_DEV_SM_CLOCK")},
		},
	}
}

// tritonGPU is what Triton tells about the GPUs; it stands in where no page is
// DCGM's, or the same memory would count twice.
func tritonGPU() dialect {
	return dialect{
		prefixes: []string{"nv_"},
		metrics: []metric{
			{name: lt.GPUMemoryUsed, from: names("nv_gpu_memory_used_bytes"), scale: mebibyte},
			{name: lt.GPUUtilization, from: names("nv_gpu_utilization")},
			{name: lt.GPUPower, from: names("nv_gpu_power_usage")},
		},
	}
}

// node is the Prometheus node exporter.
func node() dialect {
	return dialect{
		prefixes: []string{"node_"},
		metrics: []metric{
			{name: lt.NodeCPUBusy, from: []formula{of("node_cpu_seconds_total", "mode", "user|nice|system|irq|softirq|steal")}},
			{name: lt.NodeCPUTotal, from: names("node_cpu_seconds_total")},
			{name: lt.NodeLoad1, from: names("node_load1")},
		},
	}
}

// process is what client libraries tell about the process that serves the page.
func process() dialect {
	return dialect{
		prefixes: []string{"process_"},
		metrics: []metric{
			{name: lt.ProcessCPU, from: names("process_cpu_seconds_total")},
			{name: lt.ResidentMemory, from: names("process_resident_memory_bytes"), scale: mebibyte},
		},
	}
}
