package sim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// What an H100 draws and clocks; the gauges move between idle and full load.
const (
	idleWatts, fullWatts   = 110.0, 640.0
	idleCelsius, fullGrade = 38.0, 30.0
	clockMHz               = 1980.0
)

// memoryTick is how long a device's memory stays at one value.
const memoryTick = 50 * time.Millisecond

// gpu makes the DCGM exporter's gauges for every device. What they show is a
// function of seed and time and of how busy the engine is, so scraping more
// often changes nothing.
type gpu struct {
	cfg     Config
	devices []device
}

type device struct {
	used, free, util, power, temp, clock *prometheus.Desc
}

func newGPU(cfg Config) gpu {
	g := gpu{cfg: cfg}
	for i := range cfg.GPUs {
		labels := prometheus.Labels{
			"gpu": strconv.Itoa(i), "device": "nvidia" + strconv.Itoa(i), "modelName": cfg.GPU,
			"UUID": fmt.Sprintf("GPU-%016x", mix(cfg.Seed, uint64(i))),
		}
		desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, labels) }
		g.devices = append(g.devices, device{
			used:  desc("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB)."),
			free:  desc("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB)."),
			util:  desc("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %)."),
			power: desc("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W)."),
			temp:  desc("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C)."),
			clock: desc("DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz)."),
		})
	}
	return g
}

// read makes the gauges at now; busy is the share of recent time spent in
// steps (0–1).
func (g gpu) read(now time.Duration, busy float64) []prometheus.Metric {
	var page []prometheus.Metric
	for i, d := range g.devices {
		used := g.memory(i, now)
		gauge := func(desc *prometheus.Desc, value float64) {
			page = append(page, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value))
		}
		gauge(d.used, used)
		gauge(d.free, g.cfg.GPUMemoryMiB-used)
		gauge(d.util, float64(int(busy*100+0.5)))
		gauge(d.power, idleWatts+(fullWatts-idleWatts)*busy)
		gauge(d.temp, idleCelsius+fullGrade*busy)
		gauge(d.clock, clockMHz)
	}
	return page
}

// memory in use on device i in MiB: the mean ± a draw within the jitter.
func (g gpu) memory(i int, now time.Duration) float64 {
	if g.cfg.GPUMemoryJitterMiB == 0 {
		return g.cfg.GPUMemoryUsedMiB
	}
	tick := mix(mix(mix(g.cfg.Seed, streamMemory), uint64(i)), uint64(now/memoryTick))
	used := g.cfg.GPUMemoryUsedMiB + g.cfg.GPUMemoryJitterMiB*(2*unit(tick)-1)
	return min(max(used, 0), g.cfg.GPUMemoryMiB)
}

// busyMeter keeps what share of the last second or two was spent in steps.
type busyMeter struct {
	start    time.Duration // of the window under way
	since    time.Duration // time in steps at its start
	share    float64       // of the window before
	complete bool
}

// at moves the meter to now, where total time was spent in steps so far.
func (m *busyMeter) at(now, total time.Duration) float64 {
	if length := now - m.start; length >= time.Second {
		m.share = min(float64(total-m.since)/float64(length), 1)
		m.start, m.since, m.complete = now, total, true
	}
	if !m.complete && now > 0 {
		return min(float64(total)/float64(now), 1)
	}
	return m.share
}
