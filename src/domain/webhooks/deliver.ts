/** Delivers events to webhook endpoints: each at least once, and in order per deployment (README.md). Safe on several servers. */
import type { Core } from '../transaction/context.ts'
import { signingSecrets } from './endpoint.ts'
import { BEHIND, bodyOf, queueEvents } from './fan-out.ts'
import {
  DUE,
  endLease,
  LEASE_MARGIN_MS,
  type LeasedQueue,
  leaseQueues,
  type PendingDelivery,
  readPending,
  recordAnswer,
  recordDelivered,
  recordFailure,
  recordSilence,
} from './queue.ts'

/** Queues that this server sends concurrently. Endpoints that do not answer have separate places, so they delay no others. */
const PLACES = 32
/** Deliveries read by one statement. */
const READ_ROWS = 10
/** Deliveries of one queue before other queues get its place. */
const MAX_SENT = 50

type DeliveryCore = Pick<Core, 'db' | 'keyring' | 'log' | 'clock' | 'publicUrl' | 'webhooks'> & Core

export interface Deliveries {
  /** Queues new events and starts to send due queues. Does not wait for receivers. */
  round(signal: AbortSignal): Promise<void>
  /** Aborts requests and ends leases. */
  stop(): Promise<void>
}

export function createDeliveries(core: DeliveryCore): Deliveries {
  const abort = new AbortController()
  /** by whether the endpoints do not answer */
  const running = new Map<boolean, Set<Promise<void>>>([
    [false, new Set()],
    [true, new Set()],
  ])
  return {
    async round(signal) {
      const { behind, due } = await lookForWork(core)
      if (behind) await queueEvents(core, signal)
      if (behind || due) await Promise.all([...running].map(([silent, own]) => fill(silent, own)))
    },
    async stop() {
      abort.abort()
      await Promise.all([...running.values()].flatMap((own) => [...own]))
    },
  }

  async function fill(silent: boolean, own: Set<Promise<void>>): Promise<void> {
    if (own.size >= PLACES || abort.signal.aborted) return
    for (const queue of await leaseQueues(core, PLACES - own.size, silent)) {
      const work = sendUntilIdle(queue, silent)
        .catch((error) =>
          core.log.error({ err: error, endpointId: queue.endpointId }, 'could not send webhooks; they are retried'),
        )
        .finally(() => own.delete(work))
      own.add(work)
    }
  }

  /** A place that is done leases the next queue. */
  async function sendUntilIdle(first: LeasedQueue, silent: boolean): Promise<void> {
    for (let queue: LeasedQueue | undefined = first; queue && !abort.signal.aborted; ) {
      await sendQueue(core, queue, abort.signal)
      ;[queue] = abort.signal.aborted ? [] : await leaseQueues(core, 1, silent)
    }
  }
}

/** A round without work is this one statement. */
async function lookForWork(core: DeliveryCore): Promise<{ behind: boolean; due: boolean }> {
  const [found] = await core.db.$queryRaw<{ behind: boolean; due: boolean }[]>`
    SELECT EXISTS (SELECT 1 ${BEHIND}) AS behind, EXISTS (SELECT 1 ${DUE}) AS due`
  return found!
}

/** Sends the deliveries of a leased queue one after the other, until one fails, and ends the lease. */
async function sendQueue(core: DeliveryCore, queue: LeasedQueue, signal: AbortSignal): Promise<void> {
  for (let sent = 0; sent < MAX_SENT; ) {
    let renewed = performance.now()
    const pending = await readPending(core, queue, READ_ROWS)
    if (pending.length === 0) return endLease(core, queue, true)
    for (const delivery of pending) {
      if (signal.aborted || !delivery.endpoint.enabled) return endLease(core, queue, false)
      // a process that was stopped may have lost the lease
      if (performance.now() - renewed > LEASE_MARGIN_MS) return endLease(core, queue, false)
      renewed = performance.now()
      if (!(await send(core, queue, delivery, signal))) return
      sent++
    }
  }
  await endLease(core, queue, false)
}

/** False: the lease has ended. */
async function send(
  core: DeliveryCore,
  queue: LeasedQueue,
  { id, endpoint, ...content }: PendingDelivery,
  signal: AbortSignal,
): Promise<boolean> {
  const now = core.clock()
  const outcome = await core.webhooks.send(
    {
      id: `msg_${id}`,
      url: endpoint.url,
      body: bodyOf(endpoint.form, content, core.publicUrl()),
      secrets: signingSecrets(core.keyring, endpoint, now),
      sentAt: now,
    },
    signal,
  )
  if (signal.aborted && outcome.kind === 'unanswered') {
    await endLease(core, queue, false)
    return false
  }
  core.observer?.webhookTried(outcome.kind)
  if (outcome.kind === 'unanswered') await recordSilence(core, endpoint.id)
  else if (endpoint.unanswered > 0) await recordAnswer(core, endpoint.id)
  if (outcome.kind === 'delivered') return recordDelivered(core, queue, id, outcome.answer)
  await recordFailure(core, queue, id, outcome)
  return false
}
