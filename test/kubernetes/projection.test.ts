/** Which changes of an applied object count as drift. */
import { expect, test } from 'vitest'
import type { LiveObject, Manifest } from '../../src/dataplane/kubernetes/objects/types.ts'
import { project } from '../../src/dataplane/kubernetes/reconcile/projection.ts'

const manifest: Manifest = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'a', namespace: 'n', labels: { ours: '1' }, annotations: { 'pilothouse.dev/name': 'A' } },
  spec: {
    replicas: 2,
    selector: { matchLabels: { ours: '1' } },
    template: {
      metadata: { labels: { ours: '1' } },
      spec: {
        tolerations: [{ key: 'gpu', operator: 'Exists' }],
        containers: [
          {
            name: 'server',
            image: 'shop/agent:1',
            args: ['serve', '--fast'],
            env: [
              { name: 'A', value: '1' },
              { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'b' } } },
            ],
            ports: [{ containerPort: 8000 }],
            resources: { limits: { cpu: '1000m', memory: '1024Mi' } },
          },
        ],
      },
    },
  },
}

// biome-ignore lint/suspicious/noExplicitAny: tests reach into objects of the API
type Loose = any

/** The manifest as a server returns it: with defaults, normalised values and server members. */
function live(change: (object: Loose) => void = () => undefined): LiveObject {
  const object: Loose = structuredClone(manifest)
  object.metadata = { ...object.metadata, uid: 'u', resourceVersion: '7', generation: 1 }
  object.status = { replicas: 2 }
  object.spec.progressDeadlineSeconds = 600
  const pod = object.spec.template.spec
  Object.assign(pod, { restartPolicy: 'Always', dnsPolicy: 'ClusterFirst' })
  const server = pod.containers[0]
  server.imagePullPolicy = 'IfNotPresent'
  server.ports[0].protocol = 'TCP'
  server.resources.limits = { cpu: '1', memory: '1Gi' }
  change(object)
  return object
}

const server = (object: Loose): Loose => object.spec.template.spec.containers.find((c: Loose) => c.name === 'server')
const addTo = (object: Loose) => Object.assign(object, { evil: 'yes' })
const baseline = project(manifest, live())

test.each<[string, (object: Loose) => void]>([
  ['the server changes versions and status', (o) => Object.assign(o, { status: { replicas: 1, readyReplicas: 1 } })],
  ['the server adds more defaults', (o) => Object.assign(o.spec, { revisionHistoryLimit: 10 })],
  [
    'members have another order',
    (o) => Object.assign(o, { spec: Object.fromEntries(Object.entries(o.spec).reverse()) }),
  ],
  ['a user adds a label', (o) => Object.assign(o.metadata.labels, { theirs: 'x' })],
  [
    'a user adds an annotation to the pods',
    (o) => Object.assign(o.spec.template.metadata, { annotations: { r: '1' } }),
  ],
  ['a sidecar is injected in front', (o) => o.spec.template.spec.containers.unshift({ name: 'mesh', image: 'mesh:1' })],
  ['a variable is injected', (o) => server(o).env.unshift({ name: 'MESH', value: 'on' })],
  ['a first volume is injected', (o) => Object.assign(o.spec.template.spec, { volumes: [{ name: 't' }] })],
  ['a newer holder leaves its token', (o) => Object.assign(o.metadata.annotations, { 'pilothouse.dev/token': '9' })],
])('there is no drift when %s', (_, change) => {
  expect(project(manifest, live(change))).toBe(baseline)
})

test.each<[string, (object: Loose) => void]>([
  ['the image', (o) => Object.assign(server(o), { image: 'evil:1' })],
  ['the number of replicas', (o) => Object.assign(o.spec, { replicas: 0 })],
  ['the value of a variable', (o) => Object.assign(server(o).env[0], { value: '2' })],
  ['the source of a variable', (o) => Object.assign(server(o).env[1].valueFrom.secretKeyRef, { key: 'c' })],
  ['the variables by removing one', (o) => server(o).env.shift()],
  ['the order of variables', (o) => server(o).env.reverse()],
  ['a limit', (o) => Object.assign(server(o).resources.limits, { cpu: '2' })],
  ['labels by removing one of Pilothouse', (o) => delete o.metadata.labels.ours],
  ['an annotation of Pilothouse', (o) => Object.assign(o.metadata.annotations, { 'pilothouse.dev/name': 'B' })],
  ['the source of a variable by adding a member', (o) => addTo(server(o).env[1].valueFrom.secretKeyRef)],
  ['the selector by adding a label', (o) => addTo(o.spec.selector)],
  ['the port', (o) => Object.assign(server(o).ports[0], { containerPort: 9000 })],
  ['arguments by adding one', (o) => server(o).args.push('--slow')],
  ['tolerations by adding one', (o) => o.spec.template.spec.tolerations.push({ operator: 'Exists' })],
  [
    'containers by removing the agent',
    (o) => Object.assign(o.spec.template.spec, { containers: [{ name: 'mesh', image: 'mesh:1' }] }),
  ],
  ['the object by removing its pod template', (o) => delete o.spec.template],
])('there is drift when a user changes %s', (_, change) => {
  expect(project(manifest, live(change))).not.toBe(baseline)
})

test('ports of a Service are identified by port and protocol', () => {
  const service = { apiVersion: 'v1', kind: 'Service', metadata: manifest.metadata, spec: { ports: [{ port: 80 }] } }
  const seen = (ports: unknown[]) =>
    project(service, { ...service, metadata: { ...service.metadata, uid: 'u', resourceVersion: '1' }, spec: { ports } })
  const ours = { port: 80, protocol: 'TCP', targetPort: 80 }
  expect(seen([{ port: 80, protocol: 'UDP' }, ours])).toBe(seen([ours]))
  expect(seen([{ port: 80, protocol: 'UDP' }])).not.toBe(seen([ours]))
})

test('a Secret’s content is not part of its projection', () => {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: manifest.metadata, stringData: { password: 'hunter2' } }
  const live = {
    ...secret,
    metadata: { ...secret.metadata, uid: 'u', resourceVersion: '1' },
    data: { password: 'aHVudGVyMg==' },
  }
  expect(project(secret, live)).not.toMatch(/hunter2|aHVudGVyMg/)
})
