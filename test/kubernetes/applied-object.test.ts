/** Which changes of an applied object count as drift. */
import { expect, test } from 'vitest'
import type { LiveObject, Manifest } from '../../src/dataplane/kubernetes/objects/types.ts'
import { appliedObject, hasDrifted } from '../../src/dataplane/kubernetes/reconcile/drift.ts'

const manifest: Manifest = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'a', namespace: 'n' },
  spec: { selector: { app: 'a' } },
}
const live = (resourceVersion: string, app = 'a', change: Partial<LiveObject> = {}): LiveObject => ({
  ...manifest,
  spec: { selector: { app }, clusterIP: '10.0.0.1' },
  ...change,
  metadata: { ...manifest.metadata, uid: 'u', resourceVersion, ...change.metadata },
})

test('an older version of an applied object is no drift, and a newer version with another value is', () => {
  const applied = appliedObject(manifest, live('10'), false)
  expect(hasDrifted(applied, manifest, live('9', 'before'), false)).toBe(false)
  expect(hasDrifted(applied, manifest, live('10'), false)).toBe(false)
  expect(hasDrifted(applied, manifest, live('11', 'other'), false)).toBe(true)
  expect(hasDrifted(applied, manifest, live('100'), false)).toBe(false)
})

test('a recreated object of the same name is drift, whatever its version', () => {
  const applied = appliedObject(manifest, live('10'), false)
  expect(hasDrifted(applied, manifest, live('9', 'a', { metadata: { ...live('9').metadata, uid: 'v' } }), false)).toBe(
    true,
  )
})

test('a volume claim that the cluster completed or a user enlarged is no drift', () => {
  const claim = (spec: object) => ({ ...manifest, kind: 'PersistentVolumeClaim', spec })
  const sized = (storage: string) => ({ accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } })
  const there = (version: string, spec: object) => ({ ...live(version), kind: 'PersistentVolumeClaim', spec })
  const applied = appliedObject(
    claim(sized('1Gi')),
    there('10', { ...sized('1Gi'), storageClassName: 'standard' }),
    false,
  )
  const pinned = claim({ ...sized('2Gi'), storageClassName: 'standard' })
  expect(hasDrifted(applied, pinned, there('11', { ...sized('2Gi'), storageClassName: 'standard' }), false)).toBe(false)
})
