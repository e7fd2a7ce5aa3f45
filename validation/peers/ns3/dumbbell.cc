// Bulk TCP transfers through one bottleneck in ns-3.37, for `cargo measure peers`. Prints
//   packets=N setup_s=S run_s=S rss_kb=K steps=N
// packets: segments received in order; S: wall-clock time.
//
// The sender and the receiver of each flow are behind separate links. With --access-rate=0, all flows run
// between the two ends of the bottleneck.
//
// With --step=S, the simulator stops every S simulated seconds and continues, as it must for an agent. `cargo
// measure environments` uses this option.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

using namespace ns3;

namespace {

struct Options {
    uint32_t flows = 10;
    double rate = 100e6;       // bit/s
    double delay = 0.020;      // s
    uint32_t buffer = 333;     // packets
    double loss = 0.0;         // of data packets on the bottleneck
    double accessRate = 1e9;   // bit/s; 0: no access links
    double accessDelay = 0.001; // s
    uint32_t size = 1460;      // bytes of data in a segment
    uint32_t window = 1000;    // segments that a sender can have outstanding
    double delack = 0.0;       // s; 0: every segment is acknowledged
    bool sack = true;
    double spread = 1.0;       // s, in which the flows start
    double duration = 20.0;    // s
    uint64_t packets = 0;      // segments to transfer; 0: as many as go in the duration
    double step = 0.0;         // s between two stops; 0: none
    uint32_t seed = 1;
};

constexpr uint16_t kPort = 9;
constexpr uint32_t kReceiveBuffer = 64 << 20; // bytes; never the limit
constexpr uint32_t kLargeQueue = 100000;     // packets; never full

Options options;

using Ends = std::pair<Ptr<Node>, Ptr<Node>>;

void ParseOptions(int argc, char* argv[]) {
    CommandLine cmd(__FILE__);
    cmd.AddValue("flows", "transfers", options.flows);
    cmd.AddValue("rate", "of the bottleneck, bit/s", options.rate);
    cmd.AddValue("delay", "of the bottleneck, one way, s", options.delay);
    cmd.AddValue("buffer", "of the bottleneck, packets", options.buffer);
    cmd.AddValue("loss", "probability, data direction of the bottleneck", options.loss);
    cmd.AddValue("access-rate", "bit/s; 0: no access links", options.accessRate);
    cmd.AddValue("access-delay", "one way, s", options.accessDelay);
    cmd.AddValue("size", "bytes of data in a segment", options.size);
    cmd.AddValue("window", "send buffer, segments", options.window);
    cmd.AddValue("delack", "s; 0: every segment is acknowledged", options.delack);
    cmd.AddValue("sack", "SACK; without it NewReno", options.sack);
    cmd.AddValue("spread", "of the starts, s", options.spread);
    cmd.AddValue("duration", "s", options.duration);
    cmd.AddValue("packets", "segments to transfer; 0: no end", options.packets);
    cmd.AddValue("step", "s of simulated time between two stops; 0: none", options.step);
    cmd.AddValue("seed", "run number of the random streams", options.seed);
    cmd.Parse(argc, argv);
}

void SetDefaults() {
    const bool delayed = options.delack > 0;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpLinuxReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(options.sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(options.size));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delayed ? 2 : 1));
    if (delayed) {
        Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(Seconds(options.delack)));
    }
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(kReceiveBuffer));
    // The send buffer is no larger than the window: the source keeps the buffer full from the start, and every
    // packet in the buffer needs memory.
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(options.window * options.size));
}

PointToPointHelper LinkOf(double rate, double delay, uint32_t queue) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    const QueueSize limit(QueueSizeUnit::PACKETS, queue);
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(limit));
    return link;
}

// Assigns addresses to a link. The link has no queue except the queue of the device.
Ipv4InterfaceContainer Address(const NetDeviceContainer& devices) {
    static Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    TrafficControlHelper().Uninstall(devices); // Assign has installed one
    addresses.NewNetwork();
    return interfaces;
}

// Makes the neighbour at the end of the first link the default route.
void LeadAway(Ptr<Node> node, Ipv4Address neighbour) {
    Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(neighbour, 1);
}

void InstallTransfer(const Ends& ends, Ipv4Address destination, uint16_t port, Time start,
                     ApplicationContainer& sinks) {
    const std::string factory = "ns3::TcpSocketFactory";
    PacketSinkHelper receiver(factory, InetSocketAddress(Ipv4Address::GetAny(), port));
    sinks.Add(receiver.Install(ends.second));
    BulkSendHelper bulk(factory, InetSocketAddress(destination, port));
    bulk.SetAttribute("SendSize", UintegerValue(options.size));
    bulk.SetAttribute("MaxBytes", UintegerValue(options.packets * options.size));
    bulk.Install(ends.first).Start(start);
}

uint64_t Delivered(const ApplicationContainer& sinks) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sinks.GetN(); ++i) {
        bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    return bytes / options.size;
}

// A transfer of a given length ends the run.
void StopWhenDone(const ApplicationContainer& sinks) {
    if (Delivered(sinks) >= options.packets * options.flows) {
        Simulator::Stop();
    } else {
        Simulator::Schedule(Seconds(1), &StopWhenDone, sinks);
    }
}

ApplicationContainer Build() {
    NodeContainer trunk;
    trunk.Create(2);
    const bool access = options.accessRate > 0;
    NodeContainer hosts;
    hosts.Create(access ? 2 * options.flows : 0);
    InternetStackHelper stack;
    // Static routes: nix-vector and global routing take minutes to compute routes at 1000 flows.
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.Install(NodeContainer(trunk, hosts));

    const NetDeviceContainer ends = LinkOf(options.rate, options.delay, options.buffer).Install(trunk);
    const Ipv4InterfaceContainer trunkAddresses = Address(ends);
    LeadAway(trunk.Get(0), trunkAddresses.GetAddress(1));
    LeadAway(trunk.Get(1), trunkAddresses.GetAddress(0));
    if (options.loss > 0) {
        auto errors = CreateObject<RateErrorModel>();
        errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        errors->SetRate(options.loss);
        DynamicCast<PointToPointNetDevice>(ends.Get(1))->SetReceiveErrorModel(errors);
    }
    PointToPointHelper link =
        LinkOf(std::max(options.accessRate, 1.0), options.accessDelay, kLargeQueue);
    auto starts = CreateObject<UniformRandomVariable>();
    ApplicationContainer sinks;
    for (uint32_t i = 0; i < options.flows; ++i) {
        const Time start = Seconds(starts->GetValue(0.0, options.spread));
        const auto port = static_cast<uint16_t>(access ? kPort : kPort + i);
        if (access) {
            const Ends pair(hosts.Get(2 * i), hosts.Get(2 * i + 1));
            const auto near = Address(link.Install(pair.first, trunk.Get(0)));
            const auto far = Address(link.Install(trunk.Get(1), pair.second));
            LeadAway(pair.first, near.GetAddress(1));
            LeadAway(pair.second, far.GetAddress(0));
            InstallTransfer(pair, far.GetAddress(1), port, start, sinks);
        } else {
            const Ends pair(trunk.Get(0), trunk.Get(1));
            InstallTransfer(pair, trunkAddresses.GetAddress(1), port, start, sinks);
        }
    }
    return sinks;
}

// Runs to the end of the duration with stops, and returns their number.
uint64_t RunInSteps() {
    uint64_t steps = 0;
    const Time end = Seconds(options.duration);
    while (Simulator::Now() < end) {
        Simulator::Stop(std::min(Seconds(options.step), end - Simulator::Now()));
        Simulator::Run();
        ++steps;
    }
    return steps;
}

long PeakMemoryKb() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

} // namespace

int main(int argc, char* argv[]) {
    using Clock = std::chrono::steady_clock;
    using Elapsed = std::chrono::duration<double>;
    const auto begun = Clock::now();
    ParseOptions(argc, argv);
    RngSeedManager::SetRun(options.seed);
    SetDefaults();
    const ApplicationContainer sinks = Build();
    const bool stepped = options.step > 0;
    if (options.packets > 0) {
        StopWhenDone(sinks);
    } else if (!stepped) {
        Simulator::Stop(Seconds(options.duration));
    }
    const auto started = Clock::now();
    uint64_t steps = 1;
    if (stepped) {
        steps = RunInSteps();
    } else {
        Simulator::Run();
    }
    const auto ended = Clock::now();
    std::printf("packets=%lu setup_s=%.3f run_s=%.3f rss_kb=%ld steps=%lu\n", Delivered(sinks),
                Elapsed(started - begun).count(), Elapsed(ended - started).count(), PeakMemoryKb(), steps);
    // End the process without the simulator's destructors: the operating system releases the memory faster.
    std::fflush(stdout);
    std::_Exit(0);
}
