// A pool of pending transactions: who spends whose outputs, what has to wait, and which to take into the next block.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <list>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>
#include "stepped.h"

using std::size_t;
using Amount = int64_t;
using TxId = uint32_t;

template <class T> using Alloc = stepped_allocator<T>;

enum class State : uint8_t { Pending, Ready, Mined, Evicted };
enum class Kind : uint8_t { Pay, Stake, Call };

// A link inside of T, and a ring of those: which member it is, is part of the type.
template <class T> struct Hook {
	T *next = nullptr, *prev = nullptr;
	bool linked = false;
};

template <class T, Hook<T> T::*M> class IntrusiveList {
public:
	void push_back(T &t)
	{
		Hook<T> &h = t.*M;

		h = {nullptr, tail_, true};
		(tail_ ? (tail_->*M).next : head_) = &t;
		tail_ = &t;
		size_++;
	}
	void remove(T &t)
	{
		Hook<T> &h = t.*M;

		if (!h.linked)
			return;
		(h.prev ? (h.prev->*M).next : head_) = h.next;
		(h.next ? (h.next->*M).prev : tail_) = h.prev;
		h = {};
		size_--;
	}
	struct iterator {
		T *at;

		T &operator*() const { return *at; }
		bool operator!=(const iterator &o) const { return at != o.at; }
		iterator &operator++()
		{
			at = (at->*M).next;
			return *this;
		}
	};
	iterator begin() const { return {head_}; }
	iterator end() const { return {nullptr}; }
	size_t size() const { return size_; }

private:
	T *head_ = nullptr, *tail_ = nullptr;
	size_t size_ = 0;
};

struct Pay {
	uint32_t to;
	Amount amount;
};

struct Stake {
	uint32_t validator;
	uint16_t epochs;
	double rate;
};

struct Call {
	uint32_t contract, selector;
	std::array<uint16_t, 4> args;
	uint64_t gas;
};

using Payload = std::variant<Pay, Stake, Call>;

struct OutPoint {
	TxId tx;
	uint16_t index;

	bool operator<(const OutPoint &o) const { return std::pair(tx, index) < std::pair(o.tx, o.index); }
};

struct Tx;
struct Sender;

struct Output {
	Amount value = 0;
	std::optional<TxId> spent_by;
};

struct Edge {
	Tx *from, *to;
	Amount value;
	Hook<Edge> out, in;
};

struct Tx {
	TxId id = 0;
	Payload payload;
	std::array<Output, 3> outputs;
	uint8_t noutputs = 0;
	std::optional<uint32_t> not_before;
	IntrusiveList<Edge, &Edge::out> children;
	IntrusiveList<Edge, &Edge::in> parents;
	Sender *sender = nullptr;
	Hook<Tx> by_sender;
	unsigned waiting = 0;
	uint32_t mark = 0;

	Kind kind() const { return static_cast<Kind>(payload.index()); }
};

struct Sender {
	uint32_t nonce = 0;
	Amount paid = 0;
	IntrusiveList<Tx, &Tx::by_sender> queue;
};

// What is looked at for every transaction, by column.
struct Columns {
	std::vector<uint32_t, Alloc<uint32_t>> fee;
	std::vector<uint16_t, Alloc<uint16_t>> weight;
	std::vector<State, Alloc<State>> state;
	std::vector<float, Alloc<float>> score;

	TxId add(uint32_t f, uint16_t w)
	{
		fee.push_back(f);
		weight.push_back(w);
		state.push_back(State::Pending);
		score.push_back(static_cast<float>(f) / w);
		return static_cast<TxId>(fee.size() - 1);
	}
};

struct Ranked {
	float score;
	Tx *tx;

	bool operator<(const Ranked &o) const { return score != o.score ? score > o.score : tx->id < o.tx->id; }
};

struct Block {
	uint32_t height;
	uint32_t weight = 0;
	uint64_t fees = 0, root = 0;
	std::array<unsigned, 3> kinds{};
	std::vector<TxId, Alloc<TxId>> txs;
};

template <class... F> struct Overload : F... {
	using F::operator()...;
};
template <class... F> Overload(F...) -> Overload<F...>;

class Pool {
public:
	static constexpr unsigned kSenders = 8;
	static constexpr uint32_t kBlockWeight = 900;

	Tx &add(unsigned sender, Payload payload, uint32_t fee, uint16_t weight)
	{
		Tx &tx = txs_.emplace_back();
		Sender &s = senders_[sender];

		tx.id = columns_.add(fee, weight);
		tx.payload = std::move(payload);
		tx.sender = &s;
		s.nonce++;
		s.queue.push_back(tx);
		index_.push_back(&tx);
		return tx;
	}

	bool spend(Tx &by, OutPoint point)
	{
		Tx &from = *index_[point.tx];

		if (point.index >= from.noutputs || from.outputs[point.index].spent_by || columns_.state[from.id] == State::Evicted) {
			conflicts_.insert(point);
			return false;
		}
		Output &o = from.outputs[point.index];

		o.spent_by = by.id;
		if (columns_.state[from.id] == State::Mined)
			return true;
		Edge &e = edges_.emplace_back(Edge{&from, &by, o.value, {}, {}});
		from.children.push_back(e);
		by.parents.push_back(e);
		by.waiting++;
		return true;
	}

	void settle(Tx &tx)
	{
		if (!tx.waiting && columns_.state[tx.id] == State::Pending)
			ready_.push_back(&tx);
	}

	// Everything that hangs on TX, itself included, in the order it is found.
	template <class F> void walk(Tx &tx, F &&visit)
	{
		std::deque<Tx *, Alloc<Tx *>> todo{&tx};

		marks_++;
		while (!todo.empty()) {
			Tx &t = *todo.front();

			todo.pop_front();
			if (std::exchange(t.mark, marks_) == marks_)
				continue;
			visit(t);
			for (const Edge &e : t.children)
				todo.push_back(e.to);
		}
	}

	Block &mine(uint32_t height)
	{
		Block &b = blocks_.emplace_back(Block{height, 0, 0, 0, {}, {}});
		auto due = [height](const Tx &t) { return t.not_before.value_or(0) <= height; };
		auto admit = [&, this](Tx *t) {
			if (due(*t)) {
				columns_.state[t->id] = State::Ready;
				ranked_.insert({columns_.score[t->id], t});
			} else {
				later_.push_back(t);
			}
		};

		std::for_each(ready_.begin(), ready_.end(), admit);
		ready_.clear();
		for (auto it = ranked_.begin(); it != ranked_.end();) {
			Tx &t = *it->tx;

			if (b.weight + columns_.weight[t.id] > kBlockWeight) {
				++it;
				continue;
			}
			ranked_.erase(it);
			take(b, t);
			for (const Edge &e : t.children)
				if (!--e.to->waiting && columns_.state[e.to->id] == State::Pending)
					admit(e.to);
			it = ranked_.begin();
		}
		ready_.swap(later_);
		later_.clear();
		return b;
	}

	// Those whose score is below it, and what depends on them.
	unsigned evict(float below)
	{
		unsigned n = 0;

		for (size_t i = 0; i < columns_.score.size(); i++) {
			if (columns_.score[i] >= below || columns_.state[i] != State::Pending)
				continue;
			walk(*index_[i], [&](Tx &t) {
				if (columns_.state[t.id] == State::Ready)
					ranked_.erase({columns_.score[t.id], &t});
				columns_.state[t.id] = State::Evicted;
				ready_.erase(std::remove(ready_.begin(), ready_.end(), &t), ready_.end());
				n++;
			});
		}
		return n;
	}

	// A child that pays well lifts its parents.
	void lift(Tx &tx)
	{
		for (const Edge &e : tx.parents) {
			float &score = columns_.score[e.from->id];

			if (columns_.state[e.from->id] == State::Pending && score < columns_.score[tx.id])
				score = (score + columns_.score[tx.id]) / 2;
		}
	}

	uint64_t digest() const
	{
		uint64_t h = conflicts_.size();

		for (const Block &b : blocks_) {
			h = h * 1099511628211u + b.root + b.fees;
			for (unsigned k : b.kinds)
				h = h * 5 + k;
		}
		for (const Sender &s : senders_) {
			for (const Tx &t : s.queue)
				h += t.id + static_cast<uint64_t>(t.kind());
			h ^= static_cast<uint64_t>(s.paid) + s.nonce;
		}
		for (const OutPoint &p : conflicts_)
			h += p.tx * 3 + p.index;
		return h;
	}
	size_t size() const { return txs_.size(); }
	size_t mined() const { return static_cast<size_t>(std::count(columns_.state.begin(), columns_.state.end(), State::Mined)); }

private:
	void take(Block &b, Tx &t)
	{
		Sender &s = *t.sender;

		columns_.state[t.id] = State::Mined;
		b.weight += columns_.weight[t.id];
		b.fees += columns_.fee[t.id];
		b.kinds[static_cast<size_t>(t.kind())]++;
		b.txs.push_back(t.id);
		b.root = b.root * 31 + std::visit(Overload{
			[&](const Pay &p) -> uint64_t {
				s.paid += p.amount;
				return p.to;
			},
			[](const Stake &k) -> uint64_t { return k.validator + static_cast<uint64_t>(k.epochs * k.rate); },
			[](const Call &c) -> uint64_t {
				uint64_t sum = c.gas ^ c.selector;

				for (uint16_t arg : c.args)
					sum = sum * 3 + arg;
				return sum + c.contract;
			},
		}, t.payload);
		s.queue.remove(t);
	}

	std::list<Tx, Alloc<Tx>> txs_;
	std::list<Edge, Alloc<Edge>> edges_;
	std::list<Block, Alloc<Block>> blocks_;
	std::vector<Tx *, Alloc<Tx *>> index_;
	std::array<Sender, kSenders> senders_;
	Columns columns_;
	std::deque<Tx *, Alloc<Tx *>> ready_, later_;
	std::set<Ranked, std::less<Ranked>, Alloc<Ranked>> ranked_;
	std::set<OutPoint, std::less<OutPoint>, Alloc<OutPoint>> conflicts_;
	uint32_t marks_ = 0;
};

class Random {
public:
	uint32_t operator()(uint32_t below)
	{
		state_ = state_ * 6364136223846793005u + 1442695040888963407u;
		return static_cast<uint32_t>(state_ >> 33) % below;
	}

private:
	uint64_t state_ = 42;
};

static Payload payload(Random &rnd, uint32_t i)
{
	switch (static_cast<Kind>(rnd(3))) {
	case Kind::Pay:
		return Pay{rnd(1000), 100 + rnd(5000)};
	case Kind::Stake:
		return Stake{rnd(50), static_cast<uint16_t>(1 + i % 30), 0.25 * (1 + rnd(8))};
	default:
		return Call{rnd(20), i, {{1, 2, static_cast<uint16_t>(i), 4}}, 21000 + i};
	}
}

int main()
{
	Pool pool;
	Random rnd;
	unsigned evicted = 0;
	uint32_t height = 0, blocks_weight = 0;
	size_t taken = 0;

	for (uint32_t i = 0; i < 110; i++) {
		uint32_t fee = 50 + rnd(400);
		uint16_t weight = static_cast<uint16_t>(20 + rnd(60));
		Tx &tx = pool.add(i * 5 % Pool::kSenders, payload(rnd, i), fee, weight);

		tx.noutputs = static_cast<uint8_t>(1 + rnd(3));
		for (unsigned o = 0; o < tx.noutputs; o++)
			tx.outputs[o].value = static_cast<Amount>(fee) * (o + 1);
		if (i % 9 == 4)
			tx.not_before = height + 2;
		for (unsigned inputs = i > 6 ? rnd(3) : 0; inputs; inputs--) {
			TxId from = i - 1 - rnd(6);
			uint16_t index = static_cast<uint16_t>(rnd(3));

			pool.spend(tx, {from, index});
		}
		pool.lift(tx);
		pool.settle(tx);
		if (i % 20 == 19) {
			evicted += pool.evict(1.5f);
			const Block &b = pool.mine(++height);

			blocks_weight += b.weight;
			taken += b.txs.size();
		}
	}
	for (int i = 0; i < 4; i++)
		taken += pool.mine(++height).txs.size();
	std::printf("%016llx pool %zu mined %zu/%zu evicted %u weight %u\n", static_cast<unsigned long long>(pool.digest()),
		    pool.size(), pool.mined(), taken, evicted, blocks_weight);
	return 0;
}
