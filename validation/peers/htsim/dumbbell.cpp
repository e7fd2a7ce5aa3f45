// Bulk TCP transfers through one bottleneck in htsim, for `cargo measure peers`. Prints
//   packets=N setup_s=S run_s=S rss_kb=K
// N: segments received in order; S: wall-clock time.
//
// htsim's TCP is NewReno without SACK and acknowledges every segment. The sender and the
// receiver of each flow are behind separate links, as in validation/peers/ns2/dumbbell.tcl and validation/peers/ns3/dumbbell.cc.

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using Options = std::map<std::string, double>;

constexpr double kLargeQueue = 100000; // packets; never full

// A unidirectional link: a queue with its transmitter, and a pipe.
struct Link {
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Pipe> pipe;

    Link(double rate, double delay, double packets, EventList& events)
        : queue(new Queue(speedFromMbps(rate / 1e6), memFromPkt(packets), events, nullptr)),
          pipe(new Pipe(timeFromSec(delay), events)) {}

    void lead(Route& route) const {
        route.push_back(queue.get());
        route.push_back(pipe.get());
    }
};

Options parse(int argc, char* argv[]) {
    Options options{{"flows", 10},         {"rate", 100e6},        {"delay", 0.020},
                    {"buffer", 333},       {"access-rate", 1e9},   {"access-delay", 0.001},
                    {"packet", 1500},      {"spread", 1},          {"duration", 20},
                    {"seed", 1}};
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string key = std::string(argv[i]).substr(1);
        if (options.count(key) == 0) {
            std::cerr << "dumbbell: unknown key -" << key << "\n";
            std::exit(2);
        }
        options[key] = std::atof(argv[i + 1]);
    }
    return options;
}

long peak_memory_kb() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

} // namespace

int main(int argc, char* argv[]) {
    using Clock = std::chrono::steady_clock;
    using Elapsed = std::chrono::duration<double>;
    const auto begun = Clock::now();
    Options options = parse(argc, argv);
    srand(static_cast<unsigned>(options["seed"]));
    srandom(static_cast<unsigned>(options["seed"]));

    EventList events;
    events.setEndtime(timeFromSec(options["duration"]));
    Packet::set_packet_size(static_cast<int>(options["packet"]));
    TcpRtxTimerScanner timers(timeFromMs(10), events);

    const double rate = options["rate"], delay = options["delay"];
    const double access_rate = options["access-rate"], access_delay = options["access-delay"];
    const Link there(rate, delay, options["buffer"], events);
    const Link back(rate, delay, kLargeQueue, events);
    std::vector<Link> access;
    std::vector<std::unique_ptr<Route>> routes;
    std::vector<std::unique_ptr<TcpSrc>> sources;
    std::vector<std::unique_ptr<TcpSink>> sinks;
    const auto flow_link = [&]() -> const Link& {
        access.emplace_back(access_rate, access_delay, kLargeQueue, events);
        return access.back();
    };
    for (int i = 0; i < static_cast<int>(options["flows"]); ++i) {
        sources.emplace_back(new TcpSrc(nullptr, nullptr, events));
        sinks.emplace_back(new TcpSink());
        timers.registerTcp(*sources.back());
        std::unique_ptr<Route> out(new Route()), in(new Route());
        flow_link().lead(*out);
        there.lead(*out);
        flow_link().lead(*out);
        out->push_back(sinks.back().get());
        flow_link().lead(*in);
        back.lead(*in);
        flow_link().lead(*in);
        in->push_back(sources.back().get());
        const double start = options["spread"] * (rand() / (RAND_MAX + 1.0));
        sources.back()->connect(*out, *in, *sinks.back(), timeFromSec(start));
        routes.push_back(std::move(out));
        routes.push_back(std::move(in));
    }

    const auto started = Clock::now();
    while (events.doNextEvent()) {
    }
    const auto ended = Clock::now();
    unsigned long packets = 0;
    for (const auto& sink : sinks) {
        packets += sink->_cumulative_ack / Packet::data_packet_size();
    }
    std::printf("packets=%lu setup_s=%.3f run_s=%.3f rss_kb=%ld\n", packets,
                Elapsed(started - begun).count(), Elapsed(ended - started).count(),
                peak_memory_kb());
    std::fflush(stdout);
    std::_Exit(0);
}
