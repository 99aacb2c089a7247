// A scene graph: nodes of several kinds, shared meshes, animation, culling and a sorted list of what to draw.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
#include "stepped.h"

namespace scene {

template <class T> using Vector = std::vector<T, stepped_allocator<T>>;
using Text = std::basic_string<char, std::char_traits<char>, stepped_allocator<char>>;

struct TextHash {
	size_t operator()(const Text &t) const
	{
		size_t h = 5381;

		for (char c : t)
			h = h * 33 + static_cast<unsigned char>(c);
		return h;
	}
};

template <class T> struct Vec3 {
	T x{}, y{}, z{};

	Vec3 operator+(const Vec3 &o) const { return {x + o.x, y + o.y, z + o.z}; }
	Vec3 operator-(const Vec3 &o) const { return {x - o.x, y - o.y, z - o.z}; }
	Vec3 operator*(T f) const { return {x * f, y * f, z * f}; }
	Vec3 &operator+=(const Vec3 &o) { return *this = *this + o; }
	T dot(const Vec3 &o) const { return x * o.x + y * o.y + z * o.z; }
	T length() const { return std::sqrt(dot(*this)); }
};

using Vec3f = Vec3<float>;

struct Transform {
	Vec3f position;
	float scale = 1;
	float yaw = 0;

	Vec3f apply(const Vec3f &p) const
	{
		float s = std::sin(yaw), c = std::cos(yaw);

		return position + Vec3f{c * p.x + s * p.z, p.y, c * p.z - s * p.x} * scale;
	}
	Transform operator*(const Transform &inner) const { return {apply(inner.position), scale * inner.scale, yaw + inner.yaw}; }
};

struct Sphere {
	Vec3f centre;
	float radius = 0;
};

struct Vertex {
	Vec3f position, normal;
	float uv[2];
	uint32_t colour;
};

struct Face {
	uint16_t corners[3];
	uint16_t material;
};

class Mesh {
public:
	Mesh(const char *name, unsigned sides, float height);
	const Sphere &bounds() const { return bounds_; }
	size_t faces() const { return faces_.size(); }
	float area() const;
	uint32_t uses = 0;

private:
	Text name_;
	Vector<Vertex> vertices_;
	Vector<Face> faces_;
	Sphere bounds_;
};

Mesh::Mesh(const char *name, unsigned sides, float height) : name_(name)
{
	vertices_.push_back({{0, height, 0}, {0, 1, 0}, {0.5f, 0.5f}, 0xffffff});
	for (unsigned i = 0; i < sides; i++) {
		float a = 6.2831853f * static_cast<float>(i) / static_cast<float>(sides);
		Vertex v{{std::cos(a), 0, std::sin(a)}, {std::cos(a), 0, std::sin(a)}, {a / 6.3f, 0}, i * 0x10101};

		vertices_.push_back(v);
		faces_.push_back({{0, static_cast<uint16_t>(i + 1), static_cast<uint16_t>((i + 1) % sides + 1)}, 0});
	}
	for (const Vertex &v : vertices_)
		bounds_.centre += v.position * (1.0f / static_cast<float>(vertices_.size()));
	for (const auto &v : vertices_)
		bounds_.radius = std::max(bounds_.radius, (v.position - bounds_.centre).length());
}

float Mesh::area() const
{
	float sum = 0;

	for (const Face &f : faces_) {
		const Vec3f &a = vertices_[f.corners[0]].position;
		Vec3f u = vertices_[f.corners[1]].position - a, v = vertices_[f.corners[2]].position - a;

		sum += Vec3f{u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x}.length() / 2;
	}
	return sum;
}

struct Material {
	uint32_t id = 0;
	float albedo[3] = {1, 1, 1};
	float roughness = 0.5f;
	bool transparent = false;
	mutable unsigned bound = 0;
};

class MeshNode;
class LightNode;
class CameraNode;

class Visitor {
public:
	virtual ~Visitor() = default;
	virtual void mesh(const MeshNode &) {}
	virtual void light(const LightNode &) {}
	virtual void camera(const CameraNode &) {}
};

class Animated {
public:
	virtual ~Animated() = default;
	virtual void tick(double dt) = 0;
	double age() const { return age_; }

protected:
	double age_ = 0;
};

class Node {
public:
	explicit Node(const char *name) : name_(name) { live++; }
	virtual ~Node() { live--; }
	Node(const Node &) = delete;
	Node &operator=(const Node &) = delete;

	virtual void accept(Visitor &) const {}
	virtual Sphere bounds() const { return {world_.position, 0}; }

	void update(const Transform *outer, bool moved)
	{
		moved |= dirty_;
		if (moved)
			world_ = outer ? *outer * local_ : local_;
		dirty_ = false;
		for (auto &child : children_)
			child->update(&world_, moved);
	}
	template <class N> N &add(std::unique_ptr<N> child)
	{
		N &ref = *child;

		child->parent_ = this;
		child->index_ = children_.size();
		children_.push_back(std::move(child));
		return ref;
	}
	Transform &edit()
	{
		dirty_ = true;
		return local_;
	}
	const Transform &world() const { return world_; }
	const Text &name() const { return name_; }
	static int live;

	/* Depth first, by way of the parents: no stack. */
	class iterator {
	public:
		explicit iterator(Node *n) : at_(n), root_(n) {}
		Node &operator*() const { return *at_; }
		Node *operator->() const { return at_; }
		bool operator!=(const iterator &o) const { return at_ != o.at_; }
		iterator &operator++()
		{
			if (!at_->children_.empty()) {
				at_ = at_->children_.front().get();
				return *this;
			}
			while (at_ != root_) {
				Node *up = at_->parent_;

				if (at_->index_ + 1 < up->children_.size()) {
					at_ = up->children_[at_->index_ + 1].get();
					return *this;
				}
				at_ = up;
			}
			at_ = nullptr;
			return *this;
		}

	private:
		Node *at_, *root_;
	};
	iterator begin() { return iterator(this); }
	iterator end() { return iterator(nullptr); }

protected:
	Text name_;
	Transform local_, world_;
	Node *parent_ = nullptr;
	Vector<std::unique_ptr<Node>> children_;
	size_t index_ = 0;
	bool dirty_ = true;
};

int Node::live;

class MeshNode : public Node {
public:
	MeshNode(const char *name, std::shared_ptr<Mesh> mesh, const Material &m) : Node(name), mesh_(std::move(mesh)), material_(m)
	{
		mesh_->uses++;
	}
	void accept(Visitor &v) const override { v.mesh(*this); }
	Sphere bounds() const override
	{
		return {world_.apply(mesh_->bounds().centre), mesh_->bounds().radius * world_.scale};
	}
	const Mesh &mesh() const { return *mesh_; }
	const Material &material() const { return material_; }
	int layer = 0;

protected:
	std::shared_ptr<Mesh> mesh_;
	const Material &material_;
};

class Spinner final : public MeshNode, public Animated {
public:
	Spinner(const char *name, std::shared_ptr<Mesh> mesh, const Material &m, float speed)
		: MeshNode(name, std::move(mesh), m), speed_(speed) {}
	void tick(double dt) override
	{
		age_ += dt;
		edit().yaw += speed_ * static_cast<float>(dt);
	}

private:
	float speed_;
};

class LightNode : public Node, public Animated {
public:
	LightNode(const char *name, float power) : Node(name), power_(power) {}
	void accept(Visitor &v) const override { v.light(*this); }
	void tick(double dt) override
	{
		age_ += dt;
		flicker_ = 0.9f + 0.1f * static_cast<float>(std::cos(age_ * 5));
	}
	float at(const Vec3f &p) const
	{
		Vec3f d = p - world_.position;

		return power_ * flicker_ / (1 + d.dot(d));
	}

private:
	float power_, flicker_ = 1;
};

class CameraNode : public Node {
public:
	CameraNode(const char *name, float range) : Node(name), range_(range) {}
	void accept(Visitor &v) const override { v.camera(*this); }
	bool sees(const Sphere &s) const
	{
		Vec3f d = s.centre - world_.position;

		seen_++;
		return d.length() - s.radius < range_ && d.z > -s.radius;
	}
	unsigned seen() const { return seen_; }

private:
	float range_;
	mutable unsigned seen_ = 0;
};

struct DrawItem {
	const MeshNode *node;
	float depth, light;
	uint64_t key;

	bool operator<(const DrawItem &o) const { return key < o.key; }
};

struct LayerStats {
	unsigned drawn = 0, faces = 0;
	double light = 0;
};

class Renderer : public Visitor {
public:
	void frame(Node &root)
	{
		items_.clear();
		lights_.clear();
		camera_ = nullptr;
		for (Node &n : root)
			n.accept(*this);
		for (DrawItem &item : items_)
			for (const LightNode *l : lights_)
				item.light += l->at(item.node->world().position);
		std::sort(items_.begin(), items_.end());
		for (auto it = items_.cbegin(); it != items_.cend(); ++it) {
			LayerStats &s = layers_[it->node->layer];

			s.drawn++;
			s.faces += static_cast<unsigned>(it->node->mesh().faces());
			s.light += it->light * it->node->material().albedo[1];
			it->node->material().bound++;
			hash_ = hash_ * 31 + it->node->name().size() + static_cast<uint64_t>(it->depth * 8);
		}
		frames_++;
	}
	void camera(const CameraNode &c) override { camera_ = &c; }
	void light(const LightNode &l) override { lights_.push_back(&l); }
	void mesh(const MeshNode &m) override
	{
		Sphere s = m.bounds();

		if (camera_ && !camera_->sees(s)) {
			culled_++;
			return;
		}
		float depth = camera_ ? (s.centre - camera_->world().position).length() : 0;
		uint64_t key = uint64_t(m.layer) << 40 | uint64_t(m.material().id) << 32;

		items_.push_back({&m, depth, 0.1f, key | static_cast<uint32_t>(depth * 1000)});
	}
	double total() const
	{
		double sum = culled_ + frames_;

		for (const auto &[layer, s] : layers_)
			sum += s.light * (layer + 1) + s.drawn + s.faces;
		return sum;
	}
	uint64_t hash() const { return hash_; }

private:
	Vector<DrawItem> items_;
	Vector<const LightNode *> lights_;
	std::map<int, LayerStats, std::less<int>, stepped_allocator<std::pair<const int, LayerStats>>> layers_;
	const CameraNode *camera_ = nullptr;
	uint64_t hash_ = 7;
	unsigned culled_ = 0, frames_ = 0;
};

template <class N, class... Args> std::unique_ptr<N> make(Args &&...args)
{
	void *p = ::operator new(sizeof(N));

	stepped_here(typeid(N).name(), p, sizeof(N), 1);
	return std::unique_ptr<N>(::new (p) N(std::forward<Args>(args)...));
}

} // namespace scene

using namespace scene;

int main()
{
	std::unordered_map<Text, Material, TextHash, std::equal_to<Text>, stepped_allocator<std::pair<const Text, Material>>> materials;
	Vector<std::shared_ptr<Mesh>> meshes;
	Vector<Animated *> moving;
	Renderer renderer;
	double bound = 0, area = 0;

	for (const char *name : {"stone", "bark", "a pane of old green glass"}) {
		Material &m = materials[name];

		m.id = static_cast<uint32_t>(materials.size());
		m.albedo[1] = 0.25f * static_cast<float>(m.id);
		m.transparent = name[0] == 'a';
	}
	for (unsigned i = 0; i < 3; i++)
		meshes.push_back(std::allocate_shared<Mesh>(stepped_allocator<Mesh>(), i ? "cone" : "pyramid with a rather long name", 4 + i * 3, 1.5f));
	{
		auto root = make<Node>("root");

		root->add(make<CameraNode>("camera", 14.0f)).edit().position = {0, 2, -6};
		for (int i = 0; i < 6; i++) {
			Node &group = root->add(make<Node>("group"));

			group.edit().position = {static_cast<float>(i * 3 - 8), 0, static_cast<float>(i % 4)};
			for (int k = 0; k < 5; k++) {
				auto &mesh = meshes[(i + k) % 3];
				const Material &mat = materials.at(k % 2 ? "stone" : k ? "bark" : "a pane of old green glass");
				MeshNode *node;

				if (k == 3) {
					auto &s = group.add(make<Spinner>("spinner", mesh, mat, 0.4f));

					moving.push_back(&s);
					node = &s;
				} else {
					node = &group.add(make<MeshNode>(k == 1 ? "a standing stone by the road" : "prop", mesh, mat));
				}
				node->layer = mat.transparent;
				node->edit().position = {static_cast<float>(k), 0.5f * static_cast<float>(k), 2};
				node->edit().scale = 0.5f + 0.1f * static_cast<float>(i);
			}
			if (i % 2) {
				auto &light = group.add(make<LightNode>("lamp", 3.0f));

				light.edit().position.y = 4;
				moving.push_back(&light);
			}
		}
		for (int f = 0; f < 6; f++) {
			for (Animated *a : moving)
				a->tick(0.125);
			root->edit().yaw += 0.05f;
			root->update(nullptr, false);
			renderer.frame(*root);
		}
	}
	for (const auto &entry : materials)
		bound += entry.second.bound * entry.second.roughness;
	for (const auto &m : meshes)
		area += m->area() * static_cast<float>(m->uses);
	std::printf("%016llx total %.3f bound %.1f area %.3f live %d\n", static_cast<unsigned long long>(renderer.hash()),
		    renderer.total(), bound, area, Node::live);
	return 0;
}
