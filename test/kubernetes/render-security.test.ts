/** POD_SECURITY and POD_USER: what pods may do under each, and what a deployment may ask for. */
import { describe, expect, test } from 'vitest'
import type { Manifest } from '../../src/dataplane/kubernetes/objects/types.ts'
import { find, render, schemaErrors } from './render-support.ts'

const PODS = ['StatefulSet/database', 'Deployment/cache', 'Deployment/server', 'Deployment/queue']
const podOf = (manifests: Manifest[], key: string) => find(manifests, key).spec.template.spec
const restricted = (spec: object = {}) => render(spec, {}, { podSecurity: 'restricted' })
const LOCKED = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
  capabilities: { drop: ['ALL'] },
}

test('every container of every pod meets the "restricted" standard', () => {
  const manifests = restricted({
    sidecars: [{ name: 'beside', image: 'a' }],
    init_containers: [{ name: 'before', image: 'b' }],
  })
  for (const key of PODS) {
    const pod = podOf(manifests, key)
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    const containers = [...pod.containers, ...(pod.initContainers ?? [])]
    expect(containers).toHaveLength(/server|queue/.test(key) ? 3 : 1)
    for (const { securityContext } of containers) expect(securityContext).toMatchObject(LOCKED)
  }
  expect(manifests.flatMap(schemaErrors)).toEqual([])
})

test('a security context within "restricted" is kept and completed', () => {
  const asked = {
    runAsUser: 1000,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['NET_RAW'], add: ['NET_BIND_SERVICE'] },
    seccompProfile: { type: 'Localhost', localhostProfile: 'p.json' },
  }
  const [, sidecar] = podOf(restricted({ sidecars: [{ name: 's', securityContext: asked }] }), PODS[2]!).containers
  expect(sidecar.securityContext).toEqual({
    ...asked,
    allowPrivilegeEscalation: false,
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
  })
})

describe('a spec beyond "restricted" is refused with the names of its field and the setting', () => {
  const context = (securityContext: object) => ({ sidecars: [{ name: 'first' }, { name: 's', securityContext }] })
  test.each([
    [context({ privileged: true }), 'sidecars.1.securityContext.privileged: true'],
    [context({ allowPrivilegeEscalation: true }), 'sidecars.1.securityContext.allowPrivilegeEscalation: true'],
    [context({ runAsNonRoot: false }), 'sidecars.1.securityContext.runAsNonRoot: false'],
    [context({ runAsUser: 0 }), 'sidecars.1.securityContext.runAsUser: 0'],
    [context({ procMount: 'Unmasked' }), 'sidecars.1.securityContext.procMount: "Unmasked"'],
    [
      context({ capabilities: { add: ['NET_BIND_SERVICE', 'CHOWN'] } }),
      'sidecars.1.securityContext.capabilities: {"add":["NET_BIND_SERVICE","CHOWN"]}',
    ],
    [context({ seccompProfile: { type: 'Unconfined' } }), 'securityContext.seccompProfile: {"type":"Unconfined"}'],
    [context({ appArmorProfile: { type: 'Unconfined' } }), 'securityContext.appArmorProfile: {"type":"Unconfined"}'],
    [context({ seLinuxOptions: { type: 'spc_t' } }), 'securityContext.seLinuxOptions: {"type":"spc_t"}'],
    [context({ windowsOptions: { hostProcess: true } }), 'securityContext.windowsOptions: {"hostProcess":true}'],
    [{ init_containers: [{ name: 'i', securityContext: { runAsUser: 0 } }] }, 'init_containers.0.securityContext.run'],
    [{ volumes: [{ name: 'v', nfs: { server: 's', path: '/' } }] }, 'volumes.0.nfs'],
    [
      { annotations: { 'container.apparmor.security.beta.kubernetes.io/agent': 'unconfined' } },
      'annotations["container.apparmor.security.beta.kubernetes.io/agent"]: "unconfined"',
    ],
  ])('the spec %j is refused', (spec, said) => {
    expect(() => restricted(spec)).toThrow(/^POD_SECURITY=restricted of the listener does not allow .*resource_spec/)
    expect(() => restricted(spec)).toThrow(said)
    expect(() => render(spec)).not.toThrow()
  })

  test('a refusal lists all fields', () => {
    const sidecars = [{ name: 's', securityContext: { privileged: true, runAsUser: 0 } }]
    expect(() => restricted({ sidecars })).toThrow(/privileged: true, sidecars\.0\.securityContext\.runAsUser: 0/)
  })

  test('a member that is null is ignored', () => {
    const securityContext = { privileged: null, capabilities: { add: null }, runAsUser: null }
    expect(() => restricted({ sidecars: [{ name: 's', securityContext }] })).not.toThrow()
  })
})

describe('database and cache', () => {
  test.each([10_001, 999])('database and cache run as user %i, who owns their files', (podUser) => {
    for (const key of PODS.slice(0, 2))
      expect(podOf(render({}, {}, { podUser }), key).securityContext).toMatchObject({
        runAsUser: podUser,
        runAsGroup: podUser,
        fsGroup: podUser,
      })
  })

  test('without a pod user the cluster sets user and groups, and database and cache write only to volumes', () => {
    for (const key of PODS.slice(0, 2)) {
      const pod = podOf(render({}, {}, { podUser: null }), key)
      expect(Object.keys(pod.securityContext).sort()).toEqual(['fsGroupChangePolicy', 'runAsNonRoot', 'seccompProfile'])
      expect(pod.containers[0].securityContext).toEqual({ ...LOCKED, readOnlyRootFilesystem: true })
    }
    const [postgres] = podOf(render({}, {}, { podUser: null }), PODS[0]!).containers
    const mounts = postgres.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath)
    // the image writes the user's name to /tmp, for initdb
    expect(mounts).toContain('/tmp')
    const { value } = postgres.env.find(({ name }: { name: string }) => name === 'PGDATA')
    expect(mounts.some((mount: string) => value.startsWith(`${mount}/`))).toBe(true)
  })
})
