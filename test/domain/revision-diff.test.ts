/** Differences between two revisions, and durations: pure functions. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import { compare, isSame, type Side } from '../../src/domain/revisions/compare.ts'
import { durationsOf, type RevisionStep } from '../../src/domain/revisions/step-history.ts'
import { fingerprintsOf, sealSecrets } from '../../src/domain/secrets/secret-set.ts'
import { effectiveSpec } from '../../src/domain/values/resource-spec.ts'
import { BUILD_COLUMNS, type BuildColumns } from '../../src/domain/values/revision-source.ts'

const NO_COMMANDS = Object.fromEntries(Object.keys(BUILD_COLUMNS).map((column) => [column, null])) as Record<
  keyof BuildColumns,
  null
>

const side = (over: Partial<Side['revision']> = {}, more: Partial<Side> = {}): Side => ({
  revision: {
    repoUrl: 'https://git.example.com/acme/agent',
    repoRef: 'main',
    graphConfigPath: 'graph.json',
    sourceTarballPath: null,
    repoCommitSha: 'a',
    commitMessage: 'One',
    commitAuthor: 'Ada',
    imageUri: null,
    ...NO_COMMANDS,
    ...over,
  },
  secrets: [],
  resources: effectiveSpec(null),
  references: [],
  ...more,
})

test('a revision does not differ from itself', () => {
  const found = compare(side(), side())
  expect(found).toEqual({
    differences: [],
    secrets: { added: [], removed: [], changed: [] },
    references: { added: [], removed: [], changed: [] },
    resourcesKnown: true,
  })
  expect(isSame(found)).toBe(true)
})

test('each different field has its part and both values', () => {
  const to = side({ repoRef: 'next', repoCommitSha: 'b', commitMessage: null, buildCommand: 'make' })
  const found = compare(side(), to)
  expect(found.differences).toEqual([
    { part: 'source', field: 'repoRef', from: 'main', to: 'next' },
    { part: 'commit', field: 'repoCommitSha', from: 'a', to: 'b' },
    { part: 'commit', field: 'commitMessage', from: 'One', to: null },
    { part: 'commands', field: 'buildCommand', from: null, to: 'make' },
  ])
  expect(isSame(found)).toBe(false)
  expect(compare(side({ imageUri: 'a:1' }), side({ imageUri: 'a:2' })).differences).toEqual([
    { part: 'image', field: 'imageUri', from: 'a:1', to: 'a:2' },
  ])
})

test('resources are compared with defaults, and labels and lists by content', () => {
  const from = effectiveSpec({ cpu: 1, labels: { team: 'a' } })
  const same = effectiveSpec({ cpu: 1, cpu_limit: 2, min_scale: 1, labels: { team: 'a' } })
  expect(compare(side({}, { resources: from }), side({}, { resources: same })).differences).toEqual([])
  const other = effectiveSpec({ cpu: 1.5, labels: { team: 'b' } })
  expect(compare(side({}, { resources: from }), side({}, { resources: other })).differences).toEqual([
    { part: 'resources', field: 'cpu', from: '1', to: '1.5' },
    { part: 'resources', field: 'labels', from: '{"team":"a"}', to: '{"team":"b"}' },
    { part: 'resources', field: 'cpu_limit', from: '2', to: '3' },
    { part: 'resources', field: 'queue_cpu', from: '1', to: '1.5' },
    { part: 'resources', field: 'queue_cpu_limit', from: '2', to: '3' },
  ])
})

test('secrets and references list the added, removed and changed names', () => {
  const of = (secrets: Record<string, string>, keys: Record<string, string>) =>
    side(
      {},
      {
        secrets: Object.entries(secrets).map(([name, fingerprint]) => ({ name, fingerprint })),
        references: Object.entries(keys).map(([name, secret_key]) => ({ name, secret_name: 'vault', secret_key })),
      },
    )
  const found = compare(of({ B: '1', A: '1', C: '1' }, { X: 'x', Y: 'y' }), of({ D: '1', A: '2', C: '1' }, { Y: 'z' }))
  expect(found.secrets).toEqual({ added: ['D'], removed: ['B'], changed: ['A'] })
  expect(found.references).toEqual({ added: [], removed: ['X'], changed: ['Y'] })
  expect(isSame(found)).toBe(false)
})

test('unrecorded values are not compared, and the answer says so', () => {
  const found = compare(
    side({}, { resources: null, references: null }),
    side({}, { resources: effectiveSpec({ cpu: 4 }) }),
  )
  expect(found).toMatchObject({ differences: [], references: null, resourcesKnown: false })
})

test('a fingerprint shows equal values under one name of a deployment and reveals nothing without the key', () => {
  const ring = new KeyRing([['one', randomBytes(32)]])
  const prints = (deploymentId: string, secrets: Record<string, string>, by = ring) => {
    const list = Object.entries(secrets).map(([name, value]) => ({ name, value }))
    const set = sealSecrets(ring, { deploymentId, createdAt: new Date() }, list)
    return fingerprintsOf(by, set).map(({ fingerprint }) => fingerprint)
  }
  const [a, b] = prints('one', { A: 'value', B: 'value' })
  expect(a).toMatch(/^[0-9a-f]{16}$/)
  expect(b).not.toBe(a)
  expect(prints('one', { A: 'value' })).toEqual([a])
  expect(prints('one', { A: 'other' })).not.toEqual([a])
  expect(prints('another', { A: 'value' })).not.toEqual([a])
  expect(fingerprintsOf(ring, null)).toEqual([])
})

test('another first key changes all fingerprints but no comparison', () => {
  const keys: [string, Buffer][] = [
    ['old', randomBytes(32)],
    ['new', randomBytes(32)],
  ]
  const before = new KeyRing(keys)
  const after = new KeyRing(keys.toReversed())
  const set = (value: string) =>
    sealSecrets(before, { deploymentId: 'one', createdAt: new Date() }, [{ name: 'A', value }])
  const [one, same, other] = [set('x'), set('x'), set('y')].map((of) => fingerprintsOf(after, of)[0]!.fingerprint)
  expect(same).toBe(one)
  expect(other).not.toBe(one)
  expect(fingerprintsOf(before, set('x'))[0]!.fingerprint).not.toBe(one)
})

const at = (seconds: number) => new Date(seconds * 1000)
const step = (kind: RevisionStep['kind'], from: number, to: number | null, isCurrent = true): RevisionStep => ({
  kind,
  createdAt: at(from),
  startedAt: at(from),
  endedAt: to === null ? null : at(to),
  tries: 1,
  outcome: to === null ? null : 'succeeded',
  reason: null,
  isCurrent,
})
const NONE = { waited: null, provision: null, build: null, deploy: null, total: null }

test('durations are of the newest attempt, and unfinished work has none', () => {
  const first = { createdAt: at(0), attempt: 1, rolloutAt: at(0) }
  const deployed = { ...first, status: 'DEPLOYED' as const, statusSince: at(60) }
  const steps = [step('PROVISION', 1, 5), step('BUILD', 6, 46), step('DEPLOY', 50, 60)]
  expect(durationsOf(deployed, steps)).toEqual({ waited: 6, provision: 4, build: 40, deploy: 10, total: 60 })
  const building = { ...first, status: 'BUILDING' as const, statusSince: at(6) }
  expect(durationsOf(building, [step('BUILD', 6, null)])).toEqual(NONE)

  const again = { ...deployed, attempt: 2, rolloutAt: at(100), statusSince: at(103) }
  const redeployed = [...steps.map((one) => ({ ...one, isCurrent: false })), step('DEPLOY', 101, 103)]
  expect(durationsOf(again, redeployed)).toEqual({ waited: 1, provision: null, build: null, deploy: 2, total: 3 })
})

test('unrecorded values of an older server’s revision are null', () => {
  const old = { createdAt: at(0), rolloutAt: null, status: 'DEPLOYED' as const, statusSince: at(60) }
  expect(durationsOf({ ...old, attempt: 1 }, [step('DEPLOY', 50, 60)])).toMatchObject({ total: 60, waited: 50 })
  expect(durationsOf({ ...old, attempt: 2 }, [])).toEqual(NONE)
})
