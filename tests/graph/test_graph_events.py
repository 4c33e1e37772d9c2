"""Edges through events, queues, signals, registries, messages and channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graph_world import GraphWorld, graph_world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = {
    "shop/queue.py": """\
WORKERS = {}


def assign_queue(name):
    def register(cls):
        WORKERS[name] = cls
        return cls
    return register


def queue_event(name, payload):
    send(name, payload)
""",
    "shop/workers.py": """\
from django.db.models.signals import post_save
from django.dispatch import receiver
from shop.models import Order, parcel_sent
from shop.queue import assign_queue


@assign_queue("labels")
class LabelWorker:
    def consume(self, event):
        print_label(event)


def print_label(event):
    pass


@receiver(post_save, sender=Order)
def index_order(sender, **kwargs):
    pass


def tell_customer(sender, **kwargs):
    pass


parcel_sent.connect(tell_customer)


@shared_task
def bill(order):
    pass
""",
    "shop/models.py": """\
from django.dispatch import Signal

parcel_sent = Signal()


class Order:
    pass
""",
    "shop/views.py": """\
from shop.models import parcel_sent
from shop.queue import queue_event
from shop.workers import bill


def ship(order):
    queue_event("labels", {"order": order})
    parcel_sent.send(sender=order)
    app.send_task("shop.workers.bill", [order])


def other(order):
    queue_event("unknown", {})
    order.socket.send(b"x")


def later(order):
    bill.apply_async(order)
""",
    "web/bus.ts": """\
import { EventEmitter } from 'events';

export const bus = new EventEmitter();

export function track(parcel: string) {
  return parcel;
}

export function audit(parcel: string) {
  return parcel;
}
""",
    "web/listen.ts": """\
import { bus, audit, track } from './bus';

export function start(server: any) {
  bus.on('parcel.moved', track);
  bus.onAction('parcel.lost', audit);
  server.on('error', () => track('x'));
  bus.on('parcel.opened', (parcel) => {
    audit(parcel);
  });
}

export function reduce(state: any, action: any) {
  switch (action.type) {
    case 'parcel/added':
      return audit(action.parcel);
    default:
      return state;
  }
}
""",
    "web/send.ts": """\
import { bus } from './bus';

export function move(scope: string, socket: any) {
  bus.emit('parcel.moved', scope);
  bus.emitFilter('parcel.lost', scope);
  socket.emit('error', scope);
}

export function open(scope: string) {
  bus.emit(`${scope}.opened`, scope);
}

export function add(store: any) {
  store.dispatch({ type: 'parcel/added', parcel: 1 });
}
""",
    "drivers/registry.ts": """\
const drivers = new Map();

export function registerDriver(name: string, driver: any) {
  drivers.set(name, driver);
}

export function getDriver(name: string) {
  return drivers.get(name);
}
""",
    "drivers/disk.ts": """\
import { registerDriver } from './registry';

export class DiskDriver {}

registerDriver('disk', DiskDriver);
""",
    "drivers/use.ts": """\
import { getDriver } from './registry';

export function openDisk() {
  return getDriver('disk');
}
""",
    "engine/src/lib.rs": """\
pub enum Signal {
    Stop,
    Work(u32),
}

pub struct Worker {
    queue: Receiver<Signal>,
}

impl Worker {
    pub fn run(&self) {
        while let Ok(signal) = self.queue.recv() {
            match signal {
                Signal::Stop => break,
                Signal::Work(n) => handle(n),
            }
        }
    }
}

pub fn describe(signal: &Signal) -> &str {
    match signal {
        Signal::Stop => "stop",
        Signal::Work(_) => "work",
    }
}

pub fn stop(sender: &Sender<Signal>) {
    sender.send(Signal::Stop).unwrap();
}

pub fn keep(list: &mut Vec<Signal>) {
    list.push(Signal::Stop);
}
""",
    "feed/feed.go": """\
package feed

type Hub struct {
	updates chan string
}

func (h *Hub) Publish(text string) {
	h.updates <- text
}

func (h *Hub) Loop() {
	for text := range h.updates {
		deliver(text)
	}
}

func deliver(text string) {}
""",
    "bus/src/main/java/bus/Listener.java": """\
package bus;

class Listener {
    @KafkaListener(topics = "parcels.moved")
    void moved(String parcel) {}
}

class Sender {
    void send(KafkaTemplate template) {
        template.send("parcels.moved", "x");
    }
}
""",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphWorld]:
    with graph_world(tmp_path_factory.mktemp("events"), FILES) as made:
        yield made


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("shop/views.py:ship", "shop/workers.py:LabelWorker"),
        ("shop/views.py:ship", "shop/workers.py:tell_customer"),
        ("shop/views.py:ship", "shop/workers.py:bill"),
        ("web/send.ts:move", "web/bus.ts:track"),
        ("web/send.ts:open", "web/listen.ts:start.bus.on('parcel.opened')"),
        ("web/send.ts:add", "web/listen.ts:reduce"),
        ("drivers/use.ts:openDisk", "drivers/disk.ts:DiskDriver"),
        ("engine/src/lib.rs:stop", "engine/src/lib.rs:Worker.run"),
        ("feed/feed.go:Hub.Publish", "feed/feed.go:Hub.Loop"),
        ("bus/src/main/java/bus/Listener.java:Sender.send", "bus/src/main/java/bus/Listener.java:Listener.moved"),
    ],
)
def test_a_sender_reaches_its_receiver_and_the_other_way_round(world: GraphWorld, source: str, target: str) -> None:
    assert world.callees(source).get(target) == "likely"
    assert world.callers(target).get(source) == "likely"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("web/send.ts:move", "web/bus.ts:audit"),  # emitFilter is not onAction
        ("web/send.ts:move", "web/listen.ts:start.server.on('error')"),  # every library has an 'error'
        ("shop/views.py:other", "shop/workers.py:LabelWorker"),
        ("engine/src/lib.rs:stop", "engine/src/lib.rs:describe"),  # it takes nothing from a channel
        ("engine/src/lib.rs:keep", "engine/src/lib.rs:Worker.run"),  # a list is not a channel
    ],
)
def test_ends_that_only_look_alike_are_not_connected(world: GraphWorld, source: str, target: str) -> None:
    assert target not in world.callees(source)


def test_the_entry_point_of_a_worker_has_the_senders_of_its_class_as_callers(world: GraphWorld) -> None:
    assert world.callers("LabelWorker.consume") == {"shop/views.py:ship": "likely"}


def test_replies_name_the_key_that_connects_two_ends(world: GraphWorld) -> None:
    assert "LabelWorker ~ ./workers.py:7 through 'labels'" in world.text("calls", name="ship")
    assert "ship ~ through 'labels'" in world.text("callers", name="LabelWorker")
    assert "ship ~ through parcel_sent" in world.text("impact", name="tell_customer")
    assert "through 'labels'" in world.text("path", source="ship", target="print_label")


def test_what_a_receiver_calls_is_followed(world: GraphWorld) -> None:
    tree = world.text("calls", name="ship", depth=2)
    assert "print_label" in tree
    assert tree.index("LabelWorker") < tree.index("print_label")


def test_a_task_that_is_run_later_is_called(world: GraphWorld) -> None:
    assert "later through .apply_async()" in world.text("callers", name="bill")
    assert "bill ./workers.py:29 through .apply_async()" in world.text("calls", name="later")


QUEUES = {
    "go.mod": "module shop\n",
    "push/queue.go": """\
package push

import "shop/queue"

var pushQueue *queue.Queue

func Init() {
	pushQueue = queue.CreateSimpleQueue(context(), "push_update", handlePushes)
}

func context() string { return "" }

func handlePushes(items []string) {
	store(items)
}

func store(items []string) {}
""",
    "push/push.go": "package push\n\nfunc Update(item string) error {\n\treturn pushQueue.Push(item)\n}\n",
    "other/queue.go": "package other\n\nfunc Update(item string) error {\n\treturn pushQueue.Push(item)\n}\n",
    "queue/queue.go": "package queue\n\ntype Queue struct{}\n\n"
    "func CreateSimpleQueue(context, name string, handler any) *Queue {\n\treturn nil\n}\n\n"
    "func (q *Queue) Push(item any) error {\n\treturn nil\n}\n",
}


def test_an_item_put_into_a_queue_reaches_its_handler_in_the_same_package(tmp_path: Path) -> None:
    with graph_world(tmp_path, QUEUES) as world:
        assert world.callees("push/push.go:Update")["push/queue.go:handlePushes"] == "likely"
        assert "through pushQueue" in world.text("calls", name="push/push.go:Update")
        assert "push/queue.go:context" not in world.callees("push/push.go:Update")
        assert "push/queue.go:handlePushes" not in world.callees("other/queue.go:Update")
        assert "Update" in world.text("callers", name="handlePushes")
        assert "→ store" in world.text("path", source="push/push.go:Update", target="store")


def test_the_field_of_a_value_is_not_a_message(tmp_path: Path) -> None:
    files = {
        "go.mod": "module shop\n",
        "shop/shop.go": "package shop\n\ntype Job struct {\n\tRunID int\n}\n\ntype Task struct {\n\tJob *Job\n}\n\n"
        "func Finish(task *Task) {\n\tEmitReady(task.Job.RunID)\n}\n\nfunc EmitReady(id int) {}\n\n"
        "func handleRun(task *Task) bool {\n\treturn task.Job.RunID == 1\n}\n",
    }
    with graph_world(tmp_path, files) as world:
        assert {*world.callees("Finish")} == {"shop/shop.go:EmitReady"}
