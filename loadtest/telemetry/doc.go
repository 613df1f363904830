// Package telemetry reads a server's own metrics: from its Prometheus pages
// directly ([Scrape]) or through the query API of a Prometheus that scrapes
// them ([Prometheus]). Both are a [loadtest.Source] and deliver raw readings in
// canonical names; windows over them are the business of package loadtest.
//
// What an engine calls its metrics is a dialect: a table of names with their
// older spellings (engines.go, hardware.go), recognised by what the pages hold.
// A new engine or a rename is one more line in a table.
package telemetry
