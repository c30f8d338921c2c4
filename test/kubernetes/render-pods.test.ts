/** How pods run, how many exist and how they are replaced. Also labels and annotations of a deployment's objects. */
import { describe, expect, test } from 'vitest'
import type { Manifest, Replicas } from '../../src/dataplane/kubernetes/objects/types.ts'
import { renderApplication } from '../../src/dataplane/kubernetes/render/manifests.ts'
import { renderOptions } from '../../src/listener/cluster-runtime.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { COMBINATIONS, chartObjects } from '../support/chart.ts'
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

describe('pods have no privileges', () => {
  test('database and cache run as an unprivileged user on read-only file systems', () => {
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

  test('database and cache can’t be reached from outside the cluster or without a password', () => {
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

  test('an agent may run as root in its container, but gains no privileges and no cluster token', () => {
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
  ])('a sidecar’s security context (%j) overrides the default', (securityContext, rest) => {
    const pod = podOf(render({ sidecars: [{ name: 's', securityContext }] }), 'Deployment/server')
    const capabilities = (securityContext as { capabilities?: object }).capabilities ?? expect.anything()
    expect(pod.containers[1].securityContext).toEqual({ ...rest, capabilities })
  })
})

describe('replicas', () => {
  const BY_OTHERS = { min_scale: 0, max_scale: 5, autoscaler: 'none' }
  const scaled = (spec: object, live: Replicas = {}) => {
    const manifests = renderApplication(deployment, application(spec), options, live)
    const replicasOf = (role: string) => {
      const hpa = manifests.find((manifest) => keyOf(manifest) === `HPA/${role}`)?.spec as
        | { minReplicas: number; maxReplicas: number }
        | undefined
      const has = manifests.some((manifest) => keyOf(manifest) === `Deployment/${role}`)
      const replicas = has ? find(manifests, `Deployment/${role}`).spec.replicas : null
      return hpa ? [replicas, `${hpa.minReplicas}–${hpa.maxReplicas}`] : [replicas]
    }
    return { server: replicasOf('server'), queue: replicasOf('queue') }
  }

  test.each([
    ['one by default', {}, {}, [1]],
    ['the fixed number, independent of live replicas', { min_scale: 3, max_scale: 3 }, { server: 7, queue: 7 }, [3]],
    ['the minimum, without live replicas', { min_scale: 2, max_scale: 5 }, {}, [2, '2–5']],
    ['the one that the autoscaler set', { min_scale: 2, max_scale: 5 }, { server: 4, queue: 4 }, [4, '2–5']],
    ['at most the maximum', { min_scale: 2, max_scale: 5 }, { server: 9, queue: 9 }, [5, '2–5']],
    ['at least the minimum', { min_scale: 2, max_scale: 5 }, { server: 0, queue: 1 }, [2, '2–5']],
    ['at least one, because nothing scales up from zero', { min_scale: 0, max_scale: 5 }, {}, [1, '1–5']],
    ['one, for a range of zero to one', { min_scale: 0, max_scale: 1 }, {}, [1]],
    ['without an autoscaler, the one that others set', { ...BY_OTHERS, min_scale: 2 }, { server: 4, queue: 4 }, [4]],
    ['without an autoscaler, at most the maximum', BY_OTHERS, { server: 9, queue: 9 }, [5]],
    ['without an autoscaler, zero if others set zero', BY_OTHERS, { server: 0, queue: 0 }, [0]],
    ['without an autoscaler, one without live replicas', BY_OTHERS, {}, [1]],
  ])('the number of replicas is %s', (_what, spec, live, expected) => {
    expect(scaled(spec, live)).toEqual({ server: expected, queue: expected })
  })

  test('there are no replicas when the maximum is 0, and then there is no queue', () => {
    expect(scaled({ min_scale: 0, max_scale: 0 })).toEqual({ server: [0], queue: [null] })
    expect(scaled({ min_scale: 2, max_scale: 3, queue_min_scale: 0, queue_max_scale: 0 })).toEqual({
      server: [2, '2–3'],
      queue: [null],
    })
  })
})

describe('a rollout', () => {
  test('a rollout keeps all old pods until the new ones are ready', () => {
    for (const key of ['Deployment/server', 'Deployment/queue'])
      expect(find(render(), key).spec.strategy).toEqual({
        type: 'RollingUpdate',
        rollingUpdate: { maxUnavailable: 0, maxSurge: '25%' },
      })
  })

  test('a server is probed at the health path that a secret sets', () => {
    const secrets = [{ name: 'PILOTHOUSE_HEALTH_PATH', value: '/healthz' }]
    const manifests = render({}, { revision: { ...revision, secrets } })
    const [server] = podOf(manifests, 'Deployment/server').containers
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
      expect(server[probe].httpGet).toEqual({ path: '/healthz', port: 8000 })
  })

  test('a server is probed at /ok, and a queue must run for a while', () => {
    const [server] = podOf(render(), 'Deployment/server').containers
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
      expect(server[probe].httpGet).toEqual({ path: '/ok', port: 8000 })
    const [queue] = podOf(render(), 'Deployment/queue').containers
    expect(Object.keys(queue).filter((name) => /probe/i.test(name))).toEqual([])
    expect(find(render(), 'Deployment/queue').spec.minReadySeconds).toBeGreaterThan(0)
  })

  test.each([
    ['by a sleep action if the cluster supports it', { knowsSleep: true }, { sleep: { seconds: 10 } }],
    ['by a sleep command otherwise', { knowsSleep: false }, { exec: { command: ['sleep', '10'] } }],
  ])('a server keeps serving for a while before SIGTERM, %s, and then has its grace period', (_where, how, preStop) => {
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

  test('a spec sets the grace period of server and queue, and tells LangGraph’s server unless a secret does', () => {
    const spec = { termination_grace_seconds: 3600 }
    const [server, queue] = [podOf(render(spec), 'Deployment/server'), podOf(render(spec), 'Deployment/queue')]
    expect([server.terminationGracePeriodSeconds, queue.terminationGracePeriodSeconds]).toEqual([3610, 3600])
    const variable = (pod: typeof queue) =>
      pod.containers[0].env.find(({ name }: { name: string }) => name === 'BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS')
    expect(variable(queue).value).toBe('3590')
    expect(variable(podOf(render(), 'Deployment/queue'))).toBeUndefined()
    const secrets = [{ name: 'BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS', value: '60' }]
    expect(variable(podOf(render(spec, { revision: { ...revision, secrets } }), 'Deployment/queue'))).toHaveProperty(
      'valueFrom',
    )
  })

  test('a cluster with a collector tells agents where it is and who they are, unless a secret does', () => {
    const how = { otlpEndpoint: 'http://collector:4318' }
    const secrets = [{ name: 'OTEL_SERVICE_NAME', value: 'mine' }]
    const told = (app: object) =>
      podOf(render({}, app, how), 'Deployment/server').containers[0].env.filter(({ name }: { name: string }) =>
        name.startsWith('OTEL_'),
      )
    expect(told({})).toEqual([
      { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector:4318' },
      { name: 'OTEL_SERVICE_NAME', value: deployment.name },
      {
        name: 'OTEL_RESOURCE_ATTRIBUTES',
        value: `pilothouse.deployment.id=${deployment.deploymentId},pilothouse.revision.id=${revision.id},pilothouse.workspace.id=${deployment.workspaceId}`,
      },
    ])
    expect(told({ revision: { ...revision, secrets } })[1]).toHaveProperty('valueFrom')
  })

  test('a queue is scaled by its backlog with a ScaledObject of KEDA, which may reach its database', () => {
    const spec = { queue_min_scale: 1, queue_max_scale: 5, queue_scaling: { metric: 'backlog', target: 10 } }
    const how = { queueBacklogQuery: `SELECT count(*) FROM run WHERE status = 'pending'` }
    const manifests = render(spec, {}, how)
    expect(manifests.flatMap(schemaErrors)).toEqual([])
    const { spec: scaled } = find(manifests, 'ScaledObject/queue')
    const { name: queue } = find(manifests, 'Deployment/queue').metadata
    expect(scaled).toMatchObject({ minReplicaCount: 1, maxReplicaCount: 5, scaleTargetRef: { name: queue } })
    expect(scaled.triggers[0].metadata).toMatchObject({ query: how.queueBacklogQuery, targetQueryValue: '10' })
    expect(manifests.map(keyOf)).not.toContain('HPA/queue')
    expect(find(manifests, 'NetworkPolicy/database').spec.ingress).toHaveLength(2)
    expect(() => render(spec, {}, { kedaNamespace: null })).toThrow(/set KEDA_NAMESPACE/)
    const byCpu = { ...spec, queue_scaling: { metric: 'cpu', target: 60 } }
    expect(find(render(byCpu), 'HPA/queue').spec.targetCPUUtilizationPercentage).toBe(60)
  })

  test('with a Prometheus, KEDA reads the backlog from it, and reaches no database', () => {
    const spec = { queue_max_scale: 5, queue_scaling: { metric: 'backlog', target: 10 } }
    const serverAddress = 'http://prometheus.monitoring:9090'
    const { prometheusUrl, prometheusQuery } = renderOptions(
      readConfig({ QUEUE_BACKLOG_PROMETHEUS_URL: serverAddress }),
    )
    const manifests = render(spec, {}, { prometheusUrl, prometheusQuery })
    expect(manifests.flatMap(schemaErrors)).toEqual([])
    const query = `max(lg_api_num_pending_runs{namespace="agents",pod=~"ph-${deployment.deploymentId}-server-.*"})`
    const metadata = { serverAddress, query, threshold: '10', ignoreNullValues: 'false' }
    expect(find(manifests, 'ScaledObject/queue').spec.triggers).toEqual([{ type: 'prometheus', metadata }])
    expect(find(manifests, 'NetworkPolicy/database').spec.ingress).toHaveLength(1)
    expect(podOf(manifests, 'Deployment/queue')).toEqual(podOf(render(), 'Deployment/queue'))
  })

  test('pods of listeners and servers may reach a database, to look at its queue', () => {
    const manifests = render({}, {}, { queueLookNamespace: 'control' })
    expect(manifests.flatMap(schemaErrors)).toEqual([])
    const [, { from, ports }] = find(manifests, 'NetworkPolicy/database').spec.ingress
    expect(ports).toEqual([{ port: 5432, protocol: 'TCP' }])
    const { podSelector, ...namespace } = from[0]
    expect(namespace).toEqual({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'control' } } })
    const [{ key, values }] = podSelector.matchExpressions
    const objects = chartObjects({ release: 'p', namespace: 'control', values: COMBINATIONS.everything! })
    const names = objects.map(({ spec }) => spec?.template?.metadata.labels[key])
    expect(names).toEqual(expect.arrayContaining(values))
  })

  test('a rollout of the same revision makes new pods and changes only the attempt', () => {
    expect(changes(pathsOf(render()), pathsOf(render({}, { attempt: 3 })))).toEqual({
      'Deployment/server:spec.template.metadata.annotations.pilothouse.dev/attempt': '3',
      'Deployment/queue:spec.template.metadata.annotations.pilothouse.dev/attempt': '3',
    })
  })

  test('the template hash of pods changes exactly when pods must be replaced', () => {
    const hash = (...given: Parameters<typeof render>) =>
      find(render(...given), 'Deployment/server').spec.template.metadata.annotations['pilothouse.dev/template']
    expect(hash()).toMatch(/^[0-9a-f]{16}$/)
    expect(hash({ labels: { a: '1', b: '2' } })).toBe(hash({ labels: { b: '2', a: '1' } }))
    expect(hash({ min_scale: 3, max_scale: 5 })).toBe(hash())
    expect(hash({ cpu: 0.3 })).not.toBe(hash())
    expect(hash({}, { attempt: 3 })).not.toBe(hash())
  })

  test('a rollout of another revision changes neither database nor cache nor the previous secrets', () => {
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

  test('Pilothouse’s labels are on every object and pod, whatever labels the spec has', () => {
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
  ])('the image %s has the version label %s; a tag that is no valid label is left out', (imageUri, version) => {
    const { labels } = find(render({}, { revision: { ...revision, imageUri } }), 'Deployment/server').metadata
    expect(labels['app.kubernetes.io/version']).toBe(version)
  })

  test('a selector uses only labels that never change, and each component selects only its own pods', () => {
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
