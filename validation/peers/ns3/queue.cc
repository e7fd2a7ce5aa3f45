// One queue discipline of ns-3.37 behind a transmitter of constant rate, without a network. `cargo
// measure queues` gives the same packets to our disciplines (crates/net/examples/queue_alone.rs).
//
// Standard input describes the run:
//   discipline codel|fq_codel|pie|red      rate BPS      limit PACKETS      seed N
//   from S      until S                    packets that arrive before `from` do not count
//   target MS   interval MS   ecn 0|1      of CoDel, FQ-CoDel and PIE (interval: PIE's update)
//   min P   max P   probability X   weight X            of RED, in packets
//   packet NS FLOW BYTES                   a packet that arrives at this time
//   window NS RTT_NS BYTES                 a source that starts at this time: see class Window
// The program prints: offered N delivered N dropped N marked N wait_s MEAN

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace ns3;

namespace {

constexpr uint32_t kHeaders = 28; // IPv4 and UDP

struct Setting {
    std::string discipline;
    double rate = 1e7;     // bit/s
    uint32_t limit = 1000; // packets
    uint32_t seed = 1;
    double from = 0;  // s
    double until = 1; // s
    double target = 5;     // ms
    double interval = 100; // ms
    bool ecn = false;
    bool ns3 = false;
    double min = 5, max = 15, probability = 0.1, weight = 0.002;
};

struct Counts {
    uint64_t offered = 0, delivered = 0, dropped = 0, marked = 0;
    double wait = 0; // s, of all delivered
};

class Window;

// Data about a packet in the queue.
struct Known {
    Time came;
    Window* source; // or null
    uint64_t number;
};

Setting setting;
Counts counts;
Ptr<QueueDisc> queue;
std::map<uint64_t, Known> known; // by the packet's uid
bool busy = false;

bool IsCounted(Time came) { return came >= Seconds(setting.from); }

void Offer(uint32_t flow, uint32_t bytes, Window* source, uint64_t number);

// A source whose window grows and halves as Reno's does, without retransmissions. The source learns the fate of
// a packet one round trip after the packet has left the queue or was dropped.
class Window {
  public:
    Window(uint32_t flow, Time rtt, uint32_t bytes) : m_flow(flow), m_rtt(rtt), m_bytes(bytes) {}

    void Send() {
        while (m_outstanding < std::floor(m_cwnd)) {
            ++m_outstanding;
            const uint64_t number = m_next++;
            Offer(m_flow, m_bytes, this, number);
        }
    }

    void Left(uint64_t number, bool congested) {
        Simulator::Schedule(m_rtt, &Window::Hear, this, number, congested);
    }

  private:
    void Hear(uint64_t number, bool congested) {
        --m_outstanding;
        if (!congested) {
            m_cwnd += m_cwnd < m_ssthresh ? 1.0 : 1.0 / m_cwnd;
        } else if (number >= m_recover) {
            m_cwnd = std::max(m_cwnd / 2.0, 1.0);
            m_ssthresh = m_cwnd;
            m_recover = m_next;
        }
        Send();
    }

    uint32_t m_flow;
    Time m_rtt;
    uint32_t m_bytes;
    double m_cwnd = 10, m_ssthresh = 1e9;
    uint64_t m_next = 0, m_recover = 0, m_outstanding = 0;
};

void Transmit();

void Delivered(Known packet, Time began, bool marked) {
    if (IsCounted(packet.came)) {
        ++counts.delivered;
        counts.marked += marked;
        counts.wait += (began - packet.came).GetSeconds();
    }
    if (packet.source != nullptr) {
        packet.source->Left(packet.number, marked);
    }
    busy = false;
    Transmit();
}

void Transmit() {
    if (busy) {
        return;
    }
    Ptr<QueueDiscItem> item = queue->Dequeue();
    if (!item) {
        return;
    }
    busy = true;
    const Ipv4Header header = DynamicCast<Ipv4QueueDiscItem>(item)->GetHeader();
    const bool marked = header.GetEcn() == Ipv4Header::ECN_CE;
    const auto found = known.find(item->GetPacket()->GetUid());
    const Known packet = found->second;
    known.erase(found);
    const Time lasts = NanoSeconds(static_cast<int64_t>(item->GetSize() * 8e9 / setting.rate));
    Simulator::Schedule(lasts, &Delivered, packet, Simulator::Now(), marked);
}

void Dropped(Ptr<const QueueDiscItem> item) {
    const auto found = known.find(item->GetPacket()->GetUid());
    if (found == known.end()) {
        return;
    }
    const Known packet = found->second;
    known.erase(found);
    counts.dropped += IsCounted(packet.came);
    if (packet.source != nullptr) {
        packet.source->Left(packet.number, true);
    }
}

void Offer(uint32_t flow, uint32_t bytes, Window* source, uint64_t number) {
    Ptr<Packet> packet = Create<Packet>(bytes - kHeaders);
    UdpHeader udp;
    udp.SetSourcePort(1000 + flow);
    udp.SetDestinationPort(9);
    packet->AddHeader(udp);
    Ipv4Header header;
    header.SetSource(Ipv4Address("10.0.0.1"));
    header.SetDestination(Ipv4Address("10.0.0.2"));
    header.SetProtocol(17);
    header.SetPayloadSize(packet->GetSize());
    header.SetEcn(setting.ecn ? Ipv4Header::ECN_ECT0 : Ipv4Header::ECN_NotECT);
    known[packet->GetUid()] = Known{Simulator::Now(), source, number};
    counts.offered += IsCounted(Simulator::Now());
    queue->Enqueue(Create<Ipv4QueueDiscItem>(packet, Mac48Address(), 0x0800, header));
    Transmit();
}

std::string Milliseconds(double ms) { return std::to_string(ms) + "ms"; }

Ptr<QueueDisc> Make() {
    const QueueSizeValue limit(QueueSize(QueueSizeUnit::PACKETS, setting.limit));
    const TimeValue target(NanoSeconds(static_cast<int64_t>(setting.target * 1e6)));
    const TimeValue interval(NanoSeconds(static_cast<int64_t>(setting.interval * 1e6)));
    const BooleanValue ecn(setting.ecn);
    if (setting.discipline == "codel") {
        return CreateObjectWithAttributes<CoDelQueueDisc>("MaxSize", limit, "Target", target, "Interval",
                                                          interval, "UseEcn", ecn);
    }
    if (setting.discipline == "fq_codel") {
        Ptr<FqCoDelQueueDisc> fair = CreateObjectWithAttributes<FqCoDelQueueDisc>(
            "MaxSize", limit, "Target", StringValue(Milliseconds(setting.target)), "Interval",
            StringValue(Milliseconds(setting.interval)), "UseEcn", ecn, "Perturbation",
            UintegerValue(setting.seed));
        fair->SetQuantum(1514);
        return fair;
    }
    if (setting.discipline == "pie") {
        return CreateObjectWithAttributes<PieQueueDisc>(
            "MaxSize", limit, "QueueDelayReference", target, "Tupdate", interval, "UseEcn", ecn,
            "MeanPktSize", UintegerValue(1500), "UseCapDropAdjustment", BooleanValue(false));
    }
    if (setting.discipline == "red") {
        Ptr<RedQueueDisc> red = CreateObjectWithAttributes<RedQueueDisc>(
            "MaxSize", limit, "MinTh", DoubleValue(setting.min), "MaxTh", DoubleValue(setting.max), "QW",
            DoubleValue(setting.weight), "LInterm", DoubleValue(1.0 / setting.probability), "Wait",
            BooleanValue(false), "Gentle", BooleanValue(true), "UseEcn", ecn, "LinkBandwidth",
            DataRateValue(DataRate(static_cast<uint64_t>(setting.rate))), "MeanPktSize",
            UintegerValue(1500));
        return red;
    }
    NS_FATAL_ERROR("no such discipline: " << setting.discipline);
    return nullptr;
}

struct Source {
    int64_t start;
    int64_t rtt;
    uint32_t bytes;
};

struct Arrival {
    int64_t at;
    uint32_t flow;
    uint32_t bytes;
};

std::vector<Source> sources;
std::vector<Arrival> arrivals;

// Schedules one arrival at a time, because there may be a million arrivals.
void Arrive(size_t n) {
    Offer(arrivals[n].flow, arrivals[n].bytes, nullptr, n);
    if (n + 1 < arrivals.size()) {
        Simulator::Schedule(NanoSeconds(arrivals[n + 1].at - arrivals[n].at), &Arrive, n + 1);
    }
}

void Read() {
    std::string word;
    while (std::cin >> word) {
        if (word == "discipline") std::cin >> setting.discipline;
        else if (word == "rate") std::cin >> setting.rate;
        else if (word == "limit") std::cin >> setting.limit;
        else if (word == "seed") std::cin >> setting.seed;
        else if (word == "from") std::cin >> setting.from;
        else if (word == "until") std::cin >> setting.until;
        else if (word == "target") std::cin >> setting.target;
        else if (word == "interval") std::cin >> setting.interval;
        else if (word == "ecn") std::cin >> setting.ecn;
        else if (word == "as_ns3") std::cin >> setting.ns3;
        else if (word == "min") std::cin >> setting.min;
        else if (word == "max") std::cin >> setting.max;
        else if (word == "probability") std::cin >> setting.probability;
        else if (word == "weight") std::cin >> setting.weight;
        else if (word == "packet") {
            Arrival arrival;
            std::cin >> arrival.at >> arrival.flow >> arrival.bytes;
            arrivals.push_back(arrival);
        } else if (word == "window") {
            Source source;
            std::cin >> source.start >> source.rtt >> source.bytes;
            sources.push_back(source);
        } else {
            NS_FATAL_ERROR("unknown word: " << word);
        }
    }
    if (!std::cin.eof()) {
        NS_FATAL_ERROR("a number does not read after " << word);
    }
}

} // namespace

int main() {
    Read();
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(setting.seed);
    // ns-3 does not drop if the queue has fewer bytes than MinBytes, but RFC 8289 does not drop if the queue has at
    // most this number of bytes. Therefore the value for
    // RFC 8289 is larger by 1.
    Config::SetDefault("ns3::CoDelQueueDisc::MinBytes", UintegerValue(setting.ns3 ? 1500 : 1501));
    queue = Make();
    queue->TraceConnectWithoutContext("Drop", MakeCallback(&Dropped));
    queue->Initialize();
    std::vector<std::unique_ptr<Window>> windows;
    for (const Source& source : sources) {
        windows.push_back(std::make_unique<Window>(windows.size(), NanoSeconds(source.rtt), source.bytes));
        Simulator::Schedule(NanoSeconds(source.start), &Window::Send, windows.back().get());
    }
    if (!arrivals.empty()) {
        Simulator::Schedule(NanoSeconds(arrivals[0].at), &Arrive, size_t{0});
    }
    Simulator::Stop(Seconds(setting.until));
    Simulator::Run();
    const double wait = counts.delivered > 0 ? counts.wait / static_cast<double>(counts.delivered) : 0;
    std::printf("offered %lu delivered %lu dropped %lu marked %lu wait_s %.9f\n", counts.offered,
                counts.delivered, counts.dropped, counts.marked, wait);
    queue = nullptr;
    Simulator::Destroy();
    return 0;
}
