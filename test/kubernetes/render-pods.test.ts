/** How pods run, how many there are and how they are replaced; what marks the objects of a deployment. */
import { describe, expect, test } from 'vitest'
import type { Manifest, Replicas } from '../../src/dataplane/runtimes/kubernetes/objects/types.ts'
import { renderApplication } from '../../src/dataplane/runtimes/kubernetes/render/manifests.ts'
import {
  application,
  changes,
  deployment,
  find,
  keyOf,
  options,
  pathsOf,
  render,
  revision,
  schemaErrors,
} from './render-support.ts'

const WORKLOADS = ['StatefulSet/database', 'Deployment/cache', 'Deployment/server', 'Deployment/queue']
const podOf = (manifests: Manifest[], key: string) => find(manifests, key).spec.template.spec

test('manifests are rendered in apply order', () => {
  const manifests = render({ max_scale: 2 }, {}, { ingressDomain: 'example.com' })
  expect(manifests.map(keyOf)).toEqual([
    'Secret/database',
    'PersistentVolumeClaim/database',
    'StatefulSet/database',
    'Service/database',
    'Deployment/cache',
    'Service/cache',
    'NetworkPolicy/database',
    'Secret/r4',
    'Deployment/server',
    'Deployment/queue',
    'Service/',
    'HPA/server',
    'HPA/queue',
    'PDB/server',
    'PDB/queue',
    'Ingress/',
    'NetworkPolicy/',
  ])
})

describe('without privileges', () => {
  test('database and cache run as a user without any right, on file systems that they can not write to', () => {
    for (const key of ['StatefulSet/database', 'Deployment/cache']) {
      const pod = podOf(render(), key)
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 999,
          fsGroup: 999,
          seccompProfile: { type: 'RuntimeDefault' },
        },
      })
      expect(pod.containers).toHaveLength(1)
      expect(pod.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        runAsNonRoot: true,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      })
    }
  })

  test('database and cache are not reached from outside of the cluster, nor without a password', () => {
    const manifests = render({}, { customUrl: 'https://bot.example.com' }, { ingressDomain: 'example.com' })
    for (const key of ['Service/database', 'Service/cache']) expect(find(manifests, key).spec.type).toBe('ClusterIP')
    for (const key of WORKLOADS) {
      const pod = podOf(manifests, key)
      expect(pod).not.toHaveProperty('hostNetwork')
      expect(JSON.stringify(pod)).not.toContain('hostPort')
    }
    expect(JSON.stringify(manifests.filter(({ kind }) => kind === 'Ingress'))).not.toMatch(/-(database|cache)"/)
    expect(podOf(manifests, 'Deployment/cache').containers[0].args).toContain('--requirepass')
  })

  test('an agent may run as root inside, but gains no privilege and gets no token of the cluster', () => {
    for (const key of ['Deployment/server', 'Deployment/queue']) {
      const pod = podOf(render({ sidecars: [{ name: 's' }], init_containers: [{ name: 'i' }] }), key)
      expect(pod).toMatchObject({
        serviceAccountName: 'default',
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      })
      for (const container of [...pod.containers, ...pod.initContainers])
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'], add: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'SETGID', 'SETUID'] },
        })
    }
  })

  test.each([
    [{ runAsNonRoot: true }, { allowPrivilegeEscalation: false, runAsNonRoot: true }],
    [{ allowPrivilegeEscalation: true }, { allowPrivilegeEscalation: true }],
    [{ privileged: true }, { privileged: true }],
    [{ capabilities: { add: ['NET_ADMIN'] } }, { allowPrivilegeEscalation: false }],
    [{ capabilities: { add: ['SYS_ADMIN'] } }, {}],
    [{ capabilities: { add: ['CAP_SYS_ADMIN'] } }, {}],
  ])('what a sidecar asks for (%j) replaces what is there by default', (securityContext, rest) => {
    const pod = podOf(render({ sidecars: [{ name: 's', securityContext }] }), 'Deployment/server')
    const capabilities = (securityContext as { capabilities?: object }).capabilities ?? expect.anything()
    expect(pod.containers[1].securityContext).toEqual({ ...rest, capabilities })
  })
})

describe('replicas', () => {
  const BY_OTHERS = { min_scale: 0, max_scale: 5, autoscaler: 'none' }
  const scaled = (spec: object, live: Replicas = {}) => {
    const manifests = renderApplication(deployment, application(spec), options, live)
    const of = (role: string) => {
      const hpa = manifests.find((manifest) => keyOf(manifest) === `HPA/${role}`)?.spec as
        | { minReplicas: number; maxReplicas: number }
        | undefined
      const has = manifests.some((manifest) => keyOf(manifest) === `Deployment/${role}`)
      const replicas = has ? find(manifests, `Deployment/${role}`).spec.replicas : null
      return hpa ? [replicas, `${hpa.minReplicas}–${hpa.maxReplicas}`] : [replicas]
    }
    return { server: of('server'), queue: of('queue') }
  }

  test.each([
    ['one by default', {}, {}, [1]],
    ['a fixed number, whatever is live', { min_scale: 3, max_scale: 3 }, { server: 7, queue: 7 }, [3]],
    ['the minimum, when nothing is live', { min_scale: 2, max_scale: 5 }, {}, [2, '2–5']],
    ['what the autoscaler decided', { min_scale: 2, max_scale: 5 }, { server: 4, queue: 4 }, [4, '2–5']],
    ['no more than the maximum', { min_scale: 2, max_scale: 5 }, { server: 9, queue: 9 }, [5, '2–5']],
    ['no less than the minimum', { min_scale: 2, max_scale: 5 }, { server: 0, queue: 1 }, [2, '2–5']],
    ['at least one, as nothing would wake it', { min_scale: 0, max_scale: 5 }, {}, [1, '1–5']],
    ['one, of none or one', { min_scale: 0, max_scale: 1 }, {}, [1]],
    ['without an autoscaler, what others decided', { ...BY_OTHERS, min_scale: 2 }, { server: 4, queue: 4 }, [4]],
    ['without an autoscaler, no more than the maximum', BY_OTHERS, { server: 9, queue: 9 }, [5]],
    ['without an autoscaler, none where others decided so', BY_OTHERS, { server: 0, queue: 0 }, [0]],
    ['without an autoscaler, one when nothing is live', BY_OTHERS, {}, [1]],
  ])('%s', (_what, spec, live, expected) => {
    expect(scaled(spec, live)).toEqual({ server: expected, queue: expected })
  })

  test('none where the maximum is 0; then there is no queue at all', () => {
    expect(scaled({ min_scale: 0, max_scale: 0 })).toEqual({ server: [0], queue: [null] })
    expect(scaled({ min_scale: 2, max_scale: 3, queue_min_scale: 0, queue_max_scale: 0 })).toEqual({
      server: [2, '2–3'],
      queue: [null],
    })
  })
})

describe('a rollout', () => {
  test('keeps all that serve until the new ones are ready', () => {
    for (const key of ['Deployment/server', 'Deployment/queue'])
      expect(find(render(), key).spec.strategy).toEqual({
        type: 'RollingUpdate',
        rollingUpdate: { maxUnavailable: 0, maxSurge: '25%' },
      })
  })

  test('asks the server at the health path that a secret sets', () => {
    const secrets = [{ name: 'PILOTHOUSE_HEALTH_PATH', value: '/healthz' }]
    const manifests = render({}, { revision: { ...revision, secrets } })
    const [server] = podOf(manifests, 'Deployment/server').containers
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
      expect(server[probe].httpGet).toEqual({ path: '/healthz', port: 8000 })
  })

  test('asks the server at /ok, and lets a queue stand for a while', () => {
    const [server] = podOf(render(), 'Deployment/server').containers
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
      expect(server[probe].httpGet).toEqual({ path: '/ok', port: 8000 })
    const [queue] = podOf(render(), 'Deployment/queue').containers
    expect(Object.keys(queue).filter((name) => /probe/i.test(name))).toEqual([])
    expect(find(render(), 'Deployment/queue').spec.minReadySeconds).toBeGreaterThan(0)
  })

  test.each([
    ['by itself where the cluster can', { knowsSleep: true }, { sleep: { seconds: 10 } }],
    ['by a program of the image elsewhere', { knowsSleep: false }, { exec: { command: ['sleep', '10'] } }],
  ])('lets traffic end before a server gets SIGTERM, %s, and then gives each its time', (_where, how, preStop) => {
    const manifests = render({}, {}, how)
    const [server, queue] = [podOf(manifests, 'Deployment/server'), podOf(manifests, 'Deployment/queue')]
    expect(manifests.flatMap(schemaErrors)).toEqual([])
    expect(server.containers[0].lifecycle).toEqual({ preStop })
    expect(server.terminationGracePeriodSeconds).toBe(180 + 10)
    expect(queue.containers[0]).not.toHaveProperty('lifecycle')
    expect(queue.terminationGracePeriodSeconds).toBe(600)
    const [at] = podOf(render({}, {}, { preStopSeconds: 0 }), 'Deployment/server').containers
    expect(at).not.toHaveProperty('lifecycle')
  })

  test('of the same revision makes new pods, and nothing but the attempt differs', () => {
    expect(changes(pathsOf(render()), pathsOf(render({}, { attempt: 3 })))).toEqual({
      'Deployment/server:spec.template.metadata.annotations.pilothouse.dev/attempt': '3',
      'Deployment/queue:spec.template.metadata.annotations.pilothouse.dev/attempt': '3',
    })
  })

  test('marks its pods with a hash that changes whenever they have to be new ones, and only then', () => {
    const hash = (...given: Parameters<typeof render>) =>
      find(render(...given), 'Deployment/server').spec.template.metadata.annotations['pilothouse.dev/template']
    expect(hash()).toMatch(/^[0-9a-f]{16}$/)
    expect(hash({ labels: { a: '1', b: '2' } })).toBe(hash({ labels: { b: '2', a: '1' } }))
    expect(hash({ min_scale: 3, max_scale: 5 })).toBe(hash())
    expect(hash({ cpu: 0.3 })).not.toBe(hash())
    expect(hash({}, { attempt: 3 })).not.toBe(hash())
  })

  test('of another revision leaves database and cache alone, and the secrets of the one before too', () => {
    const next = { ...revision, id: '5e0c2f0a-7a64-4e3e-8b39-1b5a6c7d8e44', number: 5, imageUri: 'agent:2' }
    const paths = Object.keys(changes(pathsOf(render()), pathsOf(render({}, { revision: next }))))
    expect([...new Set(paths.map((path) => path.split(':')[0]))].sort()).toEqual([
      'Deployment/queue',
      'Deployment/server',
      'Secret/r4',
      'Secret/r5',
    ])
  })
})

describe('marks', () => {
  const OURS = {
    'app.kubernetes.io/managed-by': 'pilothouse',
    'app.kubernetes.io/name': 'agent-server',
    'pilothouse.dev/deployment-id': deployment.deploymentId,
    'pilothouse.dev/workspace-id': deployment.workspaceId,
  }
  const theirs = {
    ...Object.fromEntries(Object.keys(OURS).map((name) => [name, 'theirs'])),
    'app.kubernetes.io/component': 'theirs',
    'pilothouse.dev/revision-id': 'theirs',
    'pilothouse.dev/attempt': 'theirs',
    'pilothouse.dev/token': '9',
    'pilothouse.dev/name': 'theirs',
    mine: 'theirs too',
  }
  const manifests = render({ max_scale: 2, labels: theirs, annotations: theirs }, {}, { ingressDomain: 'example.com' })

  test('ours are on every object and every pod, whatever the spec says', () => {
    for (const manifest of manifests) {
      const { labels, annotations } = manifest.metadata
      expect(labels).toMatchObject({ ...OURS, mine: 'theirs too' })
      expect(labels!['app.kubernetes.io/component']).toMatch(/^(server|queue|cache|database)$/)
      expect(annotations).toMatchObject({ 'pilothouse.dev/name': deployment.name, mine: 'theirs too' })
      expect(annotations).not.toHaveProperty(['pilothouse.dev/token'])
    }
    for (const key of WORKLOADS) {
      const { metadata } = find(manifests, key).spec.template
      const agent = /server|queue/.test(key)
      expect(metadata.labels).toMatchObject(agent ? { ...OURS, mine: 'theirs too' } : OURS)
      expect(metadata.labels.mine).toBe(agent ? 'theirs too' : undefined)
      expect(metadata.labels['pilothouse.dev/revision-id']).toBe(agent ? revision.id : undefined)
      expect(metadata.annotations?.['pilothouse.dev/attempt']).toBe(agent ? '2' : undefined)
      expect(metadata.annotations ?? {}).not.toHaveProperty(['pilothouse.dev/token'])
    }
  })

  test.each([
    ['a:1.2', '1.2'],
    ['host:5000/a', undefined],
    ['a:_1', undefined],
    ['a:1_', undefined],
    [`a:${'1'.repeat(64)}`, undefined],
  ])('of the image %s, the version is %s: a tag that can be no label is left out', (imageUri, version) => {
    const { labels } = find(render({}, { revision: { ...revision, imageUri } }), 'Deployment/server').metadata
    expect(labels['app.kubernetes.io/version']).toBe(version)
  })

  test('pods are selected by what never changes, and each component finds its own only', () => {
    for (const key of WORKLOADS) {
      const { selector, template } = find(manifests, key).spec
      expect(Object.keys(selector.matchLabels).sort()).toEqual([
        'app.kubernetes.io/component',
        'pilothouse.dev/deployment-id',
      ])
      expect(template.metadata.labels).toMatchObject(selector.matchLabels)
    }
    const selectors = WORKLOADS.map((key) => JSON.stringify(find(manifests, key).spec.selector))
    expect(new Set(selectors).size).toBe(WORKLOADS.length)
  })
})
