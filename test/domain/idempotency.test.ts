/** How outcomes are stored, how requests are recognised (docs/api-rules.md#retries), and when entries expire. */
import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { seal } from '../../src/domain/crypto/encrypted-value.ts'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import { canonical, fingerprint, matchesFingerprint } from '../../src/domain/idempotency/entries.ts'
import { KeyedRequest } from '../../src/domain/idempotency/keyed-request.ts'
import { decodeRows, encodeRows } from '../../src/domain/idempotency/stored-rows.ts'
import { createRetention } from '../../src/domain/retain.ts'
import { type RequestContext, transaction } from '../../src/domain/transaction/context.ts'
import { once } from '../../src/domain/transaction/once.ts'
import { crossedWrites } from '../support/deadlock.ts'
import { gitDeployment, useDomain, useTenant } from '../support/domain.ts'

const domain = useDomain()
const ctx = useTenant(domain)

const keyring = (...ids: string[]) => new KeyRing(ids.map((id) => [id, Buffer.alloc(32, id)] as const))

describe('a request is recognised', () => {
  test('by its JSON, in any order of members', () => {
    expect(canonical({ b: [1, { d: null, c: 'x' }], a: undefined })).toBe(
      canonical({ a: undefined, b: [1, { c: 'x', d: null }] }),
    )
    expect(canonical({ a: [1, 2] })).not.toBe(canonical({ a: [2, 1] }))
    expect(canonical({ a: '1' })).not.toBe(canonical({ a: 1 }))
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
    expect(canonical(deep).length).toBeLessThan(1000)
  })

  test('by a signature that does not reveal its secrets, while the signing key is in the ring', () => {
    const made = fingerprint(keyring('a'), 'PATCH /x\n{"secret":"1234"}')
    expect(matchesFingerprint(keyring('b', 'a'), made, 'PATCH /x\n{"secret":"1234"}')).toBe(true)
    expect(matchesFingerprint(keyring('b', 'a'), made, 'PATCH /x\n{"secret":"1235"}')).toBe(false)
    // without the key, the request can't be checked and counts as a repeat
    expect(matchesFingerprint(keyring('b'), made, 'PATCH /x\n{"secret":"1234"}')).toBe(true)
  })
})

describe('stored rows', () => {
  test('are restored unchanged, with times, large numbers and any members of users’ objects', async () => {
    const rows = {
      deployment: {
        id: randomUUID(),
        createdAt: new Date(1),
        position: 2n ** 60n,
        resourceSpec: { $: 'date', value: 'x' },
      },
      revision: null,
      list: [new Date(2), 'text', 1.5, true, { $: 'secrets', id: randomUUID(), names: ['x'] }],
    }
    expect(await decodeRows(ctx, encodeRows(ctx.keyring, rows))).toEqual(rows)
    expect(await decodeRows(ctx, encodeRows(ctx.keyring, undefined))).toBeNull()
  })

  test('contain no secrets: a set keeps its names, and sealed values are refused', async () => {
    const set = {
      id: randomUUID(),
      names: ['TOKEN'],
      keyId: 'test',
      wrappedKey: randomBytes(60),
      ciphertext: randomBytes(60),
    }
    const text = encodeRows(ctx.keyring, { secretSet: set })
    expect(JSON.parse(text)).toEqual({ secretSet: { $: 'secrets', id: set.id, names: ['TOKEN'] } })
    expect(await decodeRows(ctx, text)).toMatchObject({ secretSet: { id: set.id, names: ['TOKEN'] } })
    const sealed = seal(ctx.keyring, 'oauth_providers.client_secret:x', 'sesame')
    expect(() => encodeRows(ctx.keyring, { clientSecret: sealed })).toThrow('sealed')
    expect(() => encodeRows(ctx.keyring, { bytes: randomBytes(3) })).toThrow("can't be kept")
  })
})

async function under<T>(key: string, work: (own: RequestContext) => Promise<T>): Promise<T> {
  const keeping = {
    encode: (result: unknown) => ({ status: 200, answer: encodeRows(ctx.keyring, result), secretSetId: null }),
    decode: ({ answer }: { answer: string }) => decodeRows(ctx, answer),
  }
  const idempotency = await KeyedRequest.begin(ctx, { header: key, request: 'x', codec: keeping })
  try {
    return await once(work)({ ...ctx, idempotency }, {})
  } finally {
    idempotency.end()
  }
}

test('a write that Postgres ends because of a deadlock is retried under its key and happens once', async () => {
  const [a, b] = [await gitDeployment(ctx), await gitDeployment(ctx)]
  const crossed = crossedWrites()
  const key = randomUUID()
  const write = (first: string, second: string, own: RequestContext) =>
    transaction(own, async ({ sql, emit }) => {
      await crossed.change(sql, first, second)
      emit({ workspaceId: ctx.workspace.id, type: 'deployment.updated', deploymentId: first })
      own.guard?.keep(crossed.tries)
      return crossed.tries
    })
  const answers = await Promise.all([
    under(key, (own) => write(a, b, own)),
    under(`${key}-2`, (own) => write(b, a, own)),
  ])
  expect(crossed.tries).toBe(3)
  expect(await under(key, (own) => write(a, b, own))).toBe(answers[0])
  expect(crossed.tries).toBe(3)
})

test('expired outcomes are removed by the next round of the retention', async () => {
  const keys = [randomUUID(), randomUUID()]
  for (const key of keys) await under(key, (own) => transaction(own, async () => null))
  await ctx.db.$executeRaw`UPDATE idempotency_entries SET created_at = now() - interval '1 day' WHERE key = ${keys[0]}`
  await createRetention(domain.core)(new AbortController().signal)
  expect(await ctx.db.idempotencyEntry.findMany({ where: { key: { in: keys } }, select: { key: true } })).toEqual([
    { key: keys[1] },
  ])
})
