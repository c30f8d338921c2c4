/** The rules of a deployment's settings page: staged edits, concurrent changes, the request and its effect. */
import { expect, test } from 'vitest'
import type { z } from 'zod'
import {
  boundsText,
  CLUSTER_FIELDS,
  fieldLabel,
  findField,
  RESOURCE_GROUPS,
  SOURCE_FIELDS,
  UNUSED_FIELDS,
} from '../../src/dashboard/pages/settings/fields.ts'
import { formatValue, parseEnvFile, parsePairs } from '../../src/dashboard/pages/settings/format-value.ts'
import { buildSaveRequest, saveEffects } from '../../src/dashboard/pages/settings/save-request.ts'
import {
  dropSaved,
  findConflicts,
  isEmpty,
  isSameValue,
  keepMine,
  NO_CHANGES,
  type StagedChanges,
  stageEdit,
  stageSecret,
  takeTheirs,
} from '../../src/dashboard/pages/settings/staged-changes.ts'
import { camel } from '../../src/domain/parsing/naming.ts'
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
const REF = 'sourceRevisionConfig.repoRef'
const CPU = 'sourceConfig.resourceSpec.cpu'
const edit = (edits: Record<string, unknown>, on = stored(), from: StagedChanges = NO_CHANGES) =>
  Object.entries(edits).reduce((staged, [path, value]) => stageEdit(staged, on, path, value), from)

test('an edit back to the stored value is no edit', () => {
  expect(isEmpty(edit({ [REF]: 'next' }))).toBe(false)
  expect(isEmpty(edit({ [REF]: 'main' }, stored(), edit({ [REF]: 'next' })))).toBe(true)
  expect(isEmpty(edit({ 'sourceConfig.resourceSpec.labels': { team: 'a' }, tags: [] }))).toBe(true)
  expect(isEmpty(stageSecret(NO_CHANGES, stored(), 'MISSING', null))).toBe(true)
})

test('another person’s saved change is a conflict at edited fields, and nowhere else', () => {
  const mine = stageSecret(edit({ [REF]: 'mine', [CPU]: 2 }), stored(), 'TOKEN', 'mine')
  const theirs = stored({
    sourceRevisionConfig: { repoRef: 'theirs' },
    secrets: [
      { name: 'TOKEN', setAt: '2026-11-02T00:00:00.000Z' },
      { name: 'NEW', setAt: '2026-11-02T00:00:00.000Z' },
    ],
  })
  const found = findConflicts(theirs, mine)
  expect([...found.paths]).toEqual([REF])
  expect([...found.secrets]).toEqual(['TOKEN'])
  expect(findConflicts(stored(), mine)).toEqual({ paths: new Set(), secrets: new Set() })

  const kept = keepMine(theirs, keepMine(theirs, mine, { path: REF }), { secret: 'TOKEN' })
  expect(findConflicts(theirs, kept)).toEqual({ paths: new Set(), secrets: new Set() })
  expect(kept.edits.get(REF)?.value).toBe('mine')
  const taken = takeTheirs(takeTheirs(mine, { path: REF }), { secret: 'TOKEN' })
  expect([[...taken.edits.keys()], taken.secrets.size]).toEqual([[CPU], 0])
})

test('an edit that another person has saved identically is no longer needed', () => {
  const mine = edit({ [REF]: 'next' })
  expect(isEmpty(dropSaved(stored({ sourceRevisionConfig: { repoRef: 'next' } }), mine))).toBe(true)
  const gone = stageSecret(NO_CHANGES, stored(), 'TOKEN', null)
  expect(isEmpty(dropSaved(stored({ secrets: [] }), gone))).toBe(true)
  expect(dropSaved(stored(), mine)).toBe(mine)
})

test('secrets alone are sent by name, without others', () => {
  const staged = stageSecret(stageSecret(NO_CHANGES, stored(), 'TOKEN', 'new'), stored(), 'OLD', null)
  expect(buildSaveRequest(stored(), staged)).toEqual({
    update: null,
    secrets: { set: [{ name: 'TOKEN', value: 'new' }], unset: ['OLD'] },
    tags: null,
  })
})

test('secrets and other fields are one write, without other people’s values', () => {
  const staged = stageSecret(edit({ [REF]: 'next', tags: [{ key: 'a', value: 'b' }] }), stored(), 'NEW', 'n')
  expect(buildSaveRequest(stored(), staged)).toEqual({
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
  const { update } = buildSaveRequest(stored(), edit({ [CPU]: null, 'sourceConfig.resourceSpec.memoryMb': 512 }))
  expect(update).toEqual({ sourceConfig: { resourceSpec: { labels: { team: 'a' }, memoryMb: 512 } } })
})

test('the page knows beforehand whether a save builds, deploys or does neither', () => {
  const of = (edits: Record<string, unknown>, source = 'gitprovider', secret = false) => {
    const on = stored({ source })
    const staged = secret ? stageSecret(edit(edits, on), on, 'NEW', 'n') : edit(edits, on)
    return saveEffects(staged, on).revision
  }
  expect(of({ [REF]: 'next' })).toBe('builds')
  expect(of({ 'sourceRevisionConfig.imageUri': 'x:2' }, 'external_container')).toBe('deploys')
  expect(of({ [CPU]: 2 })).toBeNull()
  expect(of({ 'sourceConfig.installCommand': 'npm i' })).toBeNull()
  expect(of({}, 'gitprovider', true)).toBe('keeps')
  expect(of({ [CPU]: 2 }, 'gitprovider', true)).toBe('keeps')
  expect(of({ 'sourceConfig.installCommand': 'npm i' }, 'gitprovider', true)).toBe('builds')
})

test('every resource is on the page once, with the server’s bounds', () => {
  const shown = [...RESOURCE_GROUPS.flatMap(({ fields }) => fields), ...CLUSTER_FIELDS, ...UNUSED_FIELDS]
  const shapes = Object.entries(resourceSpec.shape).map(([name, schema]) => [camel(name), schema] as const)
  const nameIn = (path: string) => path.replace('sourceConfig.resourceSpec.', '')
  expect(shown.map(({ path }) => nameIn(path)).sort()).toEqual(shapes.map(([name]) => name).sort())
  for (const [name, schema] of shapes) {
    const { min, max } = shown.find(({ path }) => nameIn(path) === name)!
    if (min === undefined || max === undefined) continue
    const takes = [min, max, min - 1, max + 1].map((value) => schema.safeParse(value).success)
    expect(takes, name).toEqual([true, true, false, false])
  }
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
  expect(fieldLabel('sourceConfig.resourceSpec.queueCpu')).toBe('Queue: CPU')
  expect(formatValue(findField(CPU), null)).toBe('no request')
  expect(formatValue(findField('tags'), [{ key: 'team', value: 'a' }])).toBe('team: a')
  expect(formatValue(findField('sourceConfig.buildOnPush'), true)).toBe('on')
  expect(boundsText(findField(CPU)!)).toBe('0.1 to 8 cores')
  expect(isSameValue({ a: 1, b: null, __typename: 'X' }, { a: 1 })).toBe(true)
})

test('lines are parsed: pairs, and those of an .env file', () => {
  expect(parsePairs('team=a\n\ntier=b=c')).toEqual({ team: 'a', tier: 'b=c' })
  expect(parsePairs('nonsense')).toBe('“nonsense” is not name=value.')
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
