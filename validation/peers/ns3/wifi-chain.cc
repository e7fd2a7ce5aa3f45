// One run of an 802.11b scenario in ns-3.37. Prints one line of results.csv:
//   id,seed,goodput_bps,mac_failures,mac_drops,relay_drops,tcp_retransmissions,events,wall_s,cpu_s
//
// The scenario is a chain (node 0 sends to node `hops`) or a single cell (`stations` saturated senders
// around one receiver). README.md explains every option and every design decision.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/dsss-error-rate-model.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>

using namespace ns3;

namespace {

struct Options {
    std::string id = "-";
    std::string traffic = "udp";
    uint32_t hops = 1;
    uint32_t stations = 0;
    uint32_t window = 48;
    bool rts = false;
    bool far = false;
    double duration = 200.0;
    double spacing = 200.0;
    uint32_t seed = 1;
    uint32_t frames = 0;
    bool per = false;
};

// Sums over the measured time after the warm-up.
struct Counters {
    uint64_t failures = 0;   // data frames and RTS that got no answer
    uint64_t drops = 0;      // data frames given up after the last attempt
    uint64_t relayDrops = 0; // packets that found a full queue anywhere but at a source
    uint64_t tcpRetransmissions = 0;
};

constexpr double kWarmUp = 10.0;        // s
constexpr uint32_t kPayload = 1000;     // bytes of data in a packet
constexpr uint32_t kQueue = 50;         // packets
constexpr double kExponent = 4.0;       // of the path loss
constexpr double kReceiveRange = 250.0; // m
constexpr double kSenseRange = 550.0;   // m
constexpr double kCellRadius = 50.0;    // m
// Power at the edge of the reception range. Thermal noise in 22 MHz is -100.6 dBm, so that even at
// the edge of the carrier-sense range the signal is 27 dB above it.
constexpr double kReceiveDbm = -60.0;
constexpr double kSlackDb = 1e-3; // a node that stands exactly at a range is inside it
constexpr uint16_t kPort = 9;

Options options;
Counters counters;
Ptr<PacketSink> sink;
uint64_t receivedAtWarmUp = 0;
SequenceNumber32 nextNewData{0};
uint32_t framesShown = 0;

double ThresholdDbm(double range) {
    return kReceiveDbm - 10.0 * kExponent * std::log10(range / kReceiveRange) - kSlackDb;
}

void EndWarmUp() {
    counters = Counters{};
    receivedAtWarmUp = sink->GetTotalRx();
}

void OnFailure(Mac48Address) { ++counters.failures; }

void OnMacDrop(WifiMacDropReason reason, Ptr<const WifiMpdu>) {
    counters.drops += reason == WIFI_MAC_DROP_REACHED_RETRY_LIMIT ? 1 : 0;
}

void OnRelayDrop(Ptr<const Packet>) { ++counters.relayDrops; }

void OnTcpSend(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>) {
    const SequenceNumber32 end = header.GetSequenceNumber() + packet->GetSize();
    if (packet->GetSize() > 0 && end <= nextNewData) ++counters.tcpRetransmissions;
    nextNewData = std::max(nextNewData, end);
}

void WatchTcp(Ptr<BulkSendApplication> source) {
    source->GetSocket()->TraceConnectWithoutContext("Tx", MakeCallback(&OnTcpSend));
}

void ShowFrame(uint32_t node, WifiConstPsduMap psdus, WifiTxVector vector, double) {
    if (framesShown++ >= options.frames) return;
    const auto psdu = psdus.begin()->second;
    const Time length = WifiPhy::CalculateTxDuration(psdu, vector, WIFI_PHY_BAND_2_4GHZ);
    const char* preamble = vector.GetPreambleType() == WIFI_PREAMBLE_LONG ? "long" : "short";
    const WifiMacHeader& header = psdu->GetHeader(0);
    std::fprintf(stderr, "%.1f us: node %u, %s%s, %u bytes, %s, %s preamble, %.1f us\n",
                 Simulator::Now().GetNanoSeconds() / 1e3, node, header.GetTypeString(),
                 header.IsRetry() ? " again" : "", psdu->GetSize(),
                 vector.GetMode().GetUniqueName().c_str(), preamble, length.GetNanoSeconds() / 1e3);
}

void SetDefaults() {
    // The time that a packet waits is not limited: only a full queue drops packets.
    const QueueSize limit(QueueSizeUnit::PACKETS, kQueue);
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(limit));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(10000)));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold",
                       UintegerValue(options.rts ? 0 : 65535));
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSsrc", UintegerValue(7));
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSlrc", UintegerValue(4));

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpLinuxReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kPayload));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(1));
    // The send buffer limits the window, because ns-3.37 crashes at a loss if the receive buffer limits it.
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(65535));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(options.window * kPayload));
}

// Places a chain along the x axis, or the stations on a circle around the receiver, which is the last
// node. The receiver receives all stations of the circle with the same power.
void Place(const NodeContainer& nodes) {
    auto positions = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < nodes.GetN(); ++i) {
        const double angle = 2.0 * M_PI * i / std::max(options.stations, 1U);
        const double radius = i < options.stations ? kCellRadius : 0.0;
        positions->Add(options.stations == 0
                           ? Vector(i * options.spacing, 0.0, 0.0)
                           : Vector(radius * std::cos(angle), radius * std::sin(angle), 0.0));
    }
    MobilityHelper mobility;
    mobility.SetPositionAllocator(positions);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);
}

NetDeviceContainer InstallWifi(const NodeContainer& nodes) {
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::LogDistancePropagationLossModel",
                               "Exponent", DoubleValue(kExponent),
                               "ReferenceDistance", DoubleValue(1.0),
                               "ReferenceLoss", DoubleValue(0.0));
    const double power = kReceiveDbm + 10.0 * kExponent * std::log10(kReceiveRange);
    const double sense = ThresholdDbm(kSenseRange);
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("TxPowerStart", DoubleValue(power));
    phy.Set("TxPowerEnd", DoubleValue(power));
    phy.Set("RxNoiseFigure", DoubleValue(0.0));
    phy.Set("CcaEdThreshold", DoubleValue(sense));
    phy.Set("CcaSensitivity", DoubleValue(sense));
    // The receiver ignores weaker signals, even as interference.
    phy.Set("RxSensitivity", DoubleValue(options.far ? -150.0 : sense));
    phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel",
                                  "MinimumRssi", DoubleValue(ThresholdDbm(kReceiveRange)));

    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue("DsssRate11Mbps"),
                                 "ControlMode", StringValue("DsssRate1Mbps"));
    return wifi.Install(phy, mac, nodes);
}

// The first frame to a new neighbour would make every rate of 802.11b a basic rate, and ACKs would then be
// sent at the rate of the data. Neighbours that are already known do not change the set of basic rates.
void KeepOneBasicRate(const NetDeviceContainer& devices) {
    for (uint32_t i = 0; i < devices.GetN(); ++i) {
        auto stations = DynamicCast<WifiNetDevice>(devices.Get(i))->GetRemoteStationManager();
        stations->AddBasicMode(DsssPhy::GetDsssRate1Mbps());
        for (uint32_t j = 0; j < devices.GetN(); ++j) {
            stations->RecordDisassociated(Mac48Address::ConvertFrom(devices.Get(j)->GetAddress()));
        }
    }
}

// Installs addresses, known neighbours and the routes of the chain. Only the interface has a queue.
Ipv4Address InstallInternet(const NodeContainer& nodes, const NetDeviceContainer& devices) {
    InternetStackHelper stack;
    stack.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    TrafficControlHelper().Uninstall(devices);
    NeighborCacheHelper().PopulateNeighborCache();

    const uint32_t last = nodes.GetN() - 1;
    const auto address = [&](uint32_t i) { return interfaces.GetAddress(i); };
    for (uint32_t i = 0; options.stations == 0 && i <= last; ++i) {
        auto table = Ipv4StaticRoutingHelper().GetStaticRouting(nodes.Get(i)->GetObject<Ipv4>());
        if (i + 1 < last) table->AddHostRouteTo(address(last), address(i + 1), 1);
        if (i > 1) table->AddHostRouteTo(address(0), address(i - 1), 1);
    }
    return address(last);
}

void Watch(const NodeContainer& nodes, const NetDeviceContainer& devices, uint32_t sources) {
    for (uint32_t i = 0; i < nodes.GetN(); ++i) {
        auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        auto stations = device->GetRemoteStationManager();
        stations->TraceConnectWithoutContext("MacTxDataFailed", MakeCallback(&OnFailure));
        stations->TraceConnectWithoutContext("MacTxRtsFailed", MakeCallback(&OnFailure));
        device->GetMac()->TraceConnectWithoutContext("DroppedMpdu", MakeCallback(&OnMacDrop));
        if (options.frames > 0) {
            device->GetPhy()->TraceConnectWithoutContext("PhyTxPsduBegin",
                                                         MakeBoundCallback(&ShowFrame, i));
        }
        if (i >= sources) {
            // The traffic-control layer drops packets if the queue below it is full.
            nodes.Get(i)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext(
                "TcDrop", MakeCallback(&OnRelayDrop));
        }
    }
}

// Every source starts at a random time between 1.0 s and 1.1 s.
void InstallTraffic(const NodeContainer& nodes, Ipv4Address destination, uint32_t sources) {
    const bool tcp = options.traffic == "tcp";
    const std::string factory = tcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
    const InetSocketAddress target(destination, kPort);
    PacketSinkHelper receiver(factory, InetSocketAddress(Ipv4Address::GetAny(), kPort));
    sink = DynamicCast<PacketSink>(receiver.Install(nodes.Get(nodes.GetN() - 1)).Get(0));

    auto jitter = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < sources; ++i) {
        const Time start = Seconds(jitter->GetValue(1.0, 1.1));
        ApplicationContainer source;
        if (tcp) {
            BulkSendHelper bulk(factory, target);
            bulk.SetAttribute("SendSize", UintegerValue(kPayload));
            source = bulk.Install(nodes.Get(i));
            // The socket exists once the application has started.
            Simulator::Schedule(start + NanoSeconds(1), &WatchTcp,
                                DynamicCast<BulkSendApplication>(source.Get(0)));
        } else {
            // More than the link can carry, but little enough that dropping packets takes little time.
            const double rate = std::min(8e6, 16e6 / sources);
            OnOffHelper constant(factory, target);
            constant.SetConstantRate(DataRate(static_cast<uint64_t>(rate)), kPayload);
            source = constant.Install(nodes.Get(i));
        }
        source.Start(start);
    }
}

// Prints the probabilities that a data frame of 1000 bytes and an ACK are received at a constant SINR.
void PrintErrorRates() {
    std::printf("sinr_db,data_11mbps,ack_1mbps\n");
    for (int db = -6; db <= 14; ++db) {
        const double sinr = std::pow(10.0, db / 10.0);
        std::printf("%d,%.4f,%.4f\n", db,
                    DsssErrorRateModel::GetDsssDqpskCck11SuccessRate(sinr, 8 * 1064),
                    DsssErrorRateModel::GetDsssDbpskSuccessRate(sinr, 8 * 14));
    }
}

void ParseOptions(int argc, char* argv[]) {
    CommandLine cmd(__FILE__);
    cmd.AddValue("id", "copied to the output", options.id);
    cmd.AddValue("seed", "run number of the random streams", options.seed);
    cmd.AddValue("traffic", "udp (saturated) or tcp (one bulk transfer)", options.traffic);
    cmd.AddValue("hops", "length of the chain", options.hops);
    cmd.AddValue("stations", "senders of a single cell; 0: a chain", options.stations);
    cmd.AddValue("window", "send buffer of TCP, segments", options.window);
    cmd.AddValue("rts", "RTS/CTS in front of every data frame", options.rts);
    cmd.AddValue("duration", "measured time after a warm-up of 10 s, s", options.duration);
    cmd.AddValue("spacing", "of the chain, m", options.spacing);
    cmd.AddValue("far", "signals from beyond the carrier-sense range interfere", options.far);
    cmd.AddValue("frames", "show the first frames on the air", options.frames);
    cmd.AddValue("per", "print the error-rate model and stop", options.per);
    cmd.Parse(argc, argv);
    NS_ABORT_MSG_UNLESS(options.traffic == "udp" || options.traffic == "tcp", "bad traffic");
    NS_ABORT_MSG_UNLESS(options.hops >= 1 && options.duration > 0, "out of range");
}

} // namespace

int main(int argc, char* argv[]) {
    ParseOptions(argc, argv);
    if (options.per) {
        PrintErrorRates();
        return 0;
    }
    RngSeedManager::SetRun(options.seed);
    SetDefaults();

    const uint32_t sources = options.stations == 0 ? 1 : options.stations;
    NodeContainer nodes;
    nodes.Create(options.stations == 0 ? options.hops + 1 : options.stations + 1);
    Place(nodes);
    const NetDeviceContainer devices = InstallWifi(nodes);
    KeepOneBasicRate(devices);
    const Ipv4Address destination = InstallInternet(nodes, devices);
    Watch(nodes, devices, sources);
    InstallTraffic(nodes, destination, sources);

    Simulator::Schedule(Seconds(kWarmUp), &EndWarmUp);
    Simulator::Stop(Seconds(kWarmUp + options.duration));
    const auto started = std::chrono::steady_clock::now();
    const std::clock_t startedCpu = std::clock();
    Simulator::Run();
    const double cpu = double(std::clock() - startedCpu) / CLOCKS_PER_SEC;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - started;

    const double bits = 8.0 * (sink->GetTotalRx() - receivedAtWarmUp);
    std::printf("%s,%u,%.0f,%lu,%lu,%lu,%lu,%lu,%.2f,%.2f\n", options.id.c_str(), options.seed,
                bits / options.duration, counters.failures, counters.drops, counters.relayDrops,
                counters.tcpRetransmissions, Simulator::GetEventCount(), wall.count(), cpu);
    Simulator::Destroy();
    return 0;
}
