/** The rules of a deployment's settings page: staged edits, concurrent changes, the request and its effect. */
import { expect, test } from 'vitest'
import type { z } from 'zod'
import { boundsText } from '../../src/dashboard/components/labels.ts'
import {
  dropEdit,
  dropSaved,
  type Edits,
  findConflicts,
  keepMine,
  secretKey,
  setEdit,
} from '../../src/dashboard/pages/settings/edits.ts'
import {
  CLUSTER_FIELDS,
  findField,
  fullLabel,
  RESOURCE_GROUPS,
  SOURCE_FIELDS,
  SPEC_PATH,
  UNUSED_FIELDS,
} from '../../src/dashboard/pages/settings/fields.ts'
import {
  formatInput,
  type Input,
  inputError,
  inputOf,
  isSameInput,
  parseEnvFile,
  parseInput,
} from '../../src/dashboard/pages/settings/inputs.ts'
import { buildSaveRequest, saveEffects } from '../../src/dashboard/pages/settings/save-request.ts'
import { camel } from '../../src/domain/parsing/codec.ts'
import { resourceSpec } from '../../src/domain/values/resource-spec.ts'
import { sourceConfig, sourceRevisionConfig } from '../../src/domain/values/shapes.ts'

const stored = (more: object = {}) => ({
  source: 'gitprovider' as const,
  sourceConfig: { resourceSpec: { cpu: 1, labels: { team: 'a' } }, buildOnPush: false, installCommand: null },
  sourceRevisionConfig: { repoRef: 'main' },
  secretReferences: null,
  secrets: [
    { name: 'TOKEN', setAt: '2026-11-01T00:00:00.000Z' },
    { name: 'OLD', setAt: null },
  ],
  tags: [],
  ...more,
})
const TOKEN = secretKey('TOKEN')
const field = (name: string) => findField(name)!
const edit = (changes: Record<string, Input | null>, on = stored(), from: Edits = {}) =>
  Object.entries(changes).reduce((edits, [key, value]) => setEdit(edits, on, key, value), from)

test('an edit back to the stored value is no edit', () => {
  expect(Object.keys(edit({ repoRef: 'next' }))).toEqual(['repoRef'])
  expect(edit({ repoRef: 'main' }, stored(), edit({ repoRef: 'next' }))).toEqual({})
  expect(edit({ labels: 'team=a', tags: [], cpu: '1.', [secretKey('MISSING')]: null })).toEqual({})
})

test('an edit with settings that are old keeps the other edits', () => {
  const now = stored({ sourceRevisionConfig: { repoRef: 'theirs' } })
  const back = edit({ repoRef: 'main' }, now)
  expect(edit({ cpu: 2 }, stored(), back)).toMatchObject({ repoRef: { value: 'main' }, cpu: { value: 2 } })
})

test('another person’s saved change is a conflict at edited fields, and nowhere else', () => {
  const mine = edit({ repoRef: 'mine', cpu: 2, [TOKEN]: 'mine' })
  const theirs = stored({
    sourceRevisionConfig: { repoRef: 'theirs' },
    secrets: [
      { name: 'TOKEN', setAt: '2026-11-02T00:00:00.000Z' },
      { name: 'NEW', setAt: '2026-11-02T00:00:00.000Z' },
    ],
  })
  expect(findConflicts(mine, theirs)).toEqual(['repoRef', TOKEN])
  expect(findConflicts(mine, stored())).toEqual([])

  const kept = keepMine(keepMine(mine, theirs, 'repoRef'), theirs, TOKEN)
  expect(findConflicts(kept, theirs)).toEqual([])
  expect(kept.repoRef!.value).toBe('mine')
  expect(Object.keys(dropEdit(dropEdit(mine, 'repoRef'), TOKEN))).toEqual(['cpu'])
})

test('an edit that another person has saved identically is no longer needed', () => {
  const mine = edit({ repoRef: 'next' })
  expect(dropSaved(mine, stored({ sourceRevisionConfig: { repoRef: 'next' } }))).toEqual({})
  expect(dropSaved(edit({ [TOKEN]: null }), stored({ secrets: [] }))).toEqual({})
  expect(dropSaved(mine, stored())).toEqual(mine)
})

test('secrets alone are sent by name, without others', () => {
  expect(buildSaveRequest(stored(), edit({ [TOKEN]: 'new', [secretKey('OLD')]: null }))).toEqual({
    update: null,
    secrets: { set: [{ name: 'TOKEN', value: 'new' }], unset: ['OLD'] },
    tags: null,
  })
})

test('secrets and other fields are one write, without other people’s values', () => {
  const edits = edit({ repoRef: 'next', tags: [{ key: 'a', value: 'b' }], [secretKey('NEW')]: 'n' })
  expect(buildSaveRequest(stored(), edits)).toEqual({
    update: {
      sourceRevisionConfig: { repoRef: 'next' },
      secrets: [
        { name: 'TOKEN', value: '••••••••' },
        { name: 'OLD', value: '••••••••' },
        { name: 'NEW', value: 'n' },
      ],
    },
    secrets: null,
    tags: [{ key: 'a', value: 'b' }],
  })
})

test('an edited resource is sent with the others; emptied ones are left out', () => {
  const { update } = buildSaveRequest(stored(), edit({ cpu: '', memoryMb: 512 }))
  expect(update).toEqual({ sourceConfig: { resourceSpec: { labels: { team: 'a' }, memoryMb: 512 } } })
})

test('an emptied field returns to its default, where an absent one would keep its value', () => {
  const edits = edit(
    { idleMinutes: '', buildCommand: '' },
    stored({ idleMinutes: 30, sourceConfig: { buildCommand: 'make' } }),
  )
  expect(buildSaveRequest(stored(), edits).update).toEqual({ idleMinutes: 0, sourceConfig: { buildCommand: '' } })
})

test('the page knows beforehand whether a save builds, deploys or does neither', () => {
  const of = (changes: Record<string, Input>, source = 'gitprovider', secret = false) => {
    const on = stored({ source })
    return saveEffects(edit(secret ? { ...changes, [secretKey('NEW')]: 'n' } : changes, on), on).revision
  }
  expect(of({ repoRef: 'next' })).toBe('builds')
  expect(of({ imageUri: 'x:2' }, 'external_container')).toBe('deploys')
  expect(of({ cpu: 2 })).toBeNull()
  expect(of({ installCommand: 'npm i' })).toBeNull()
  expect(of({}, 'gitprovider', true)).toBe('keeps')
  expect(of({ cpu: 2 }, 'gitprovider', true)).toBe('keeps')
  expect(of({ installCommand: 'npm i' }, 'gitprovider', true)).toBe('builds')
})

test('every resource is on the page once', () => {
  const shown = [...RESOURCE_GROUPS.flatMap(({ fields }) => fields), ...CLUSTER_FIELDS, ...UNUSED_FIELDS]
  const names = Object.keys(resourceSpec.shape).map(camel)
  expect(shown.map(({ path }) => path).sort()).toEqual(names.map((name) => `${SPEC_PATH}.${name}`).sort())
})

test('every changeable field of the source is there, too', () => {
  const fixed = ['integrationId', 'repoUrl', 'deploymentType', 'listenerId', 'listenerConfig', 'resourceSpec']
  const computed = ['repoCommitSha']
  const of = (part: string, schema: z.ZodObject, not: string[]) =>
    Object.keys(schema.shape)
      .map(camel)
      .filter((name) => !not.includes(name))
      .map((name) => `${part}.${name}`)
  expect(SOURCE_FIELDS.map(({ path }) => path).sort()).toEqual(
    [...of('sourceConfig', sourceConfig, fixed), ...of('sourceRevisionConfig', sourceRevisionConfig, computed)].sort(),
  )
})

test('values are shown in words', () => {
  expect(fullLabel(field('queueCpu'))).toBe('Queue: CPU')
  expect(formatInput(field('cpu'), '')).toBe('no request')
  expect(formatInput(field('tags'), [{ key: 'team', value: 'a' }])).toBe('team: a')
  expect(formatInput(field('buildOnPush'), true)).toBe('on')
  const named = ['cpu', 'dbCpu', 'idleMinutes', 'memoryMb', 'installCommand', 'buildOnPush'].map(field)
  expect(named.map(boundsText)).toEqual([
    ...['0.1 to 8 cores', 'cores', '1 to 10,080', '0 or more', 'At most 4,096 characters'],
    null,
  ])
})

test('input is checked before it is sent', () => {
  expect(inputError(field('cpu'), 9, 1)).toBe('Enter a number from 0.1 to 8.')
  expect(inputError(field('repoRef'), '', 'main')).toBe('This can’t be empty.')
  expect(inputError(field('buildCommand'), '', 'make')).toBeUndefined()
  expect(inputError(field('volumes'), '{}', '')).toBe('Enter a list: [ … ].')
  expect(inputError(field('queueScaling'), '[]', '')).toBe('Enter an object: { … }.')
  expect(inputError(field('queueScaling'), '{"metric": "backlog", "target": 10}', '')).toBeUndefined()
  expect(inputError(field('tags'), [{ key: 'a', value: '' }], [])).toBe('Fill in every field.')
  const spec = { volumes: [{ name: 'data', emptyDir: null, __typename: 'Volume' }] }
  const volumes = inputOf(stored({ sourceConfig: { resourceSpec: spec } }), field('volumes'))
  expect(isSameInput(field('volumes'), volumes, '[{"name":"data"}]')).toBe(true)
})

test('lines are parsed: pairs, and those of an .env file', () => {
  expect(parseInput(field('labels'), 'team=a\n\ntier=b=c').value).toEqual({ team: 'a', tier: 'b=c' })
  expect(parseInput(field('labels'), 'nonsense').error).toBe('“nonsense” is not name=value.')
  const lines = '# a comment\nexport TOKEN="a b"\nPLAIN= x \nEMPTY=\nJSON={"a":1}'
  expect(parseEnvFile(lines)).toEqual(
    new Map([
      ['TOKEN', 'a b'],
      ['PLAIN', 'x'],
      ['EMPTY', ''],
      ['JSON', '{"a":1}'],
    ]),
  )
  expect(parseEnvFile('just a text')).toBeNull()
})
