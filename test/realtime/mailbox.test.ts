/** A mailbox is bounded: what happens to it depends on whether its owner can still read the log instead. */
import { describe, expect, test } from 'vitest'
import { Hub } from '../../src/api/realtime/hub.ts'
import type { StoredEvent } from '../../src/domain/events/read.ts'

const CAPACITY = 10
const event = (sequence: number): StoredEvent => ({
  workspaceId: 'w',
  sequence: BigInt(sequence),
  type: 'revision.status',
  deploymentId: null,
  revisionId: null,
  subjectId: null,
  fromStatus: null,
  toStatus: null,
  reason: null,
  message: null,
  attempt: null,
  changed: [],
  actor: { kind: 'system', id: null, name: null },
  occurredAt: new Date(),
})

function mailbox(wants: (event: StoredEvent) => boolean = () => true) {
  const hub = new Hub(CAPACITY)
  const box = hub.join('w', wants)
  const topic = hub.topics.get('w')!
  topic.begin(0n)
  return { hub, topic, box }
}

describe('A mailbox', () => {
  test('never holds more than it may, while its owner catches up, and says from where the log has to be read', () => {
    const { topic, box } = mailbox()
    for (let sequence = 1; sequence <= 1_000; sequence++) {
      topic.publish([event(sequence)])
      expect(box.size).toBeLessThanOrEqual(CAPACITY)
      expect(Number(box.since) + box.size).toBe(sequence)
    }
    expect(box.goLive(box.since! - 1n)).toBe(false)
    expect(box.goLive(box.since!)).toBe(true)
  })

  test('ends once it is live and full, holds nothing any more, and nobody keeps it', async () => {
    const { hub, topic, box } = mailbox()
    const other = hub.join('w', () => true)
    box.goLive(0n)
    topic.publish(Array.from({ length: CAPACITY + 1 }, (_, i) => event(i + 1)))
    expect([box.overflowed, box.ended.aborted, box.size]).toEqual([true, true, 0])
    expect(await box.next()).toBeUndefined()
    expect([...topic.mailboxes]).toEqual([other])
    expect(other.overflowed).toBe(false)
    other.close()
    expect(hub.topics.size).toBe(0)
  })

  test('is not filled by what its owner does not want', () => {
    const { topic, box } = mailbox((e) => e.sequence % 100n === 0n)
    box.goLive(0n)
    topic.publish(Array.from({ length: 1_000 }, (_, i) => event(i + 1)))
    expect([box.overflowed, box.size]).toEqual([false, CAPACITY])
  })

  test('begins where its workspace is when it joins', () => {
    const { hub, topic } = mailbox()
    topic.publish([event(1), event(2)])
    expect(hub.join('w', () => true).since).toBe(2n)
  })
})
