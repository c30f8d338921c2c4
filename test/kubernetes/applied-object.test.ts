/** Which changes of an applied object count as drift. */
import { expect, test } from 'vitest'
import { ownedFields } from '../../src/dataplane/kubernetes/objects/managed-fields.ts'
import type { LiveObject, Manifest } from '../../src/dataplane/kubernetes/objects/types.ts'
import { appliedObject, hasDrifted } from '../../src/dataplane/kubernetes/reconcile/drift.ts'

const IMAGE = { 'f:replicas': {}, 'f:template': { 'f:image': {} } }
const manifest: Manifest = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'a', namespace: 'n' },
  spec: { replicas: 1, template: { image: 'a:1' } },
}

/** As the informers show it. `fields`: those of the spec that Pilothouse owns. */
function live(resourceVersion: string, fields: object = IMAGE, change: Partial<LiveObject> = {}): LiveObject {
  const entry = { manager: 'pilothouse', operation: 'Apply', time: resourceVersion, fieldsV1: { 'f:spec': fields } }
  const other = { manager: 'kubectl', operation: 'Update', fieldsV1: { 'f:spec': { [resourceVersion]: {} } } }
  const metadata = { ...manifest.metadata, uid: 'u', resourceVersion, managedFields: [other, entry] }
  const object = { ...manifest, ...change, metadata: { ...metadata, ...change.metadata } }
  return { ...object, ownedFields: ownedFields(object) }
}

test('an older version of an applied object is no drift, and a newer version with a field that others took is', () => {
  const applied = appliedObject(manifest, live('10'), false)
  const taken = { 'f:replicas': {}, 'f:template': {} }
  expect(hasDrifted(applied, manifest, live('9', taken))).toBe(false)
  expect(hasDrifted(applied, manifest, live('10'))).toBe(false)
  expect(hasDrifted(applied, manifest, live('11', taken))).toBe(true)
  expect(hasDrifted(applied, manifest, live('100'))).toBe(false)
})

test('another number of replicas is drift, and another owner of the same number is not', () => {
  const applied = appliedObject(manifest, live('10'), false)
  const scaled = { ...(manifest.spec as object), replicas: 2 }
  expect(hasDrifted(applied, manifest, live('11', IMAGE, { spec: scaled }))).toBe(true)
  expect(hasDrifted(applied, manifest, live('12', { 'f:template': { 'f:image': {} } }))).toBe(false)
})

test('a recreated object of the same name is drift, whatever its version', () => {
  const applied = appliedObject(manifest, live('10'), false)
  const recreated = { metadata: { ...live('9').metadata, uid: 'v' } }
  expect(hasDrifted(applied, manifest, live('9', IMAGE, recreated))).toBe(true)
})

test('a volume claim that a user enlarged is no drift', () => {
  const claim = { ...manifest, kind: 'PersistentVolumeClaim', spec: {} }
  const there = (version: string, fields: object) => live(version, fields, { kind: claim.kind, spec: {} })
  const applied = appliedObject(claim, there('10', { 'f:resources': { 'f:storage': {} } }), false)
  expect(hasDrifted(applied, claim, there('11', {}))).toBe(false)
})
