/** Manifests that install a listener: a Deployment, and per namespace a Role with the needed rights. See README.md. */
import type {
  V1Container,
  V1Deployment,
  V1EnvVar,
  V1PolicyRule,
  V1Role,
  V1RoleBinding,
  V1ServiceAccount,
} from '@kubernetes/client-node'

export interface ManifestOptions {
  name: string
  namespace: string
  /** namespaces of the deployments: the listener's `k8s_namespaces` */
  watched: string[]
  listenerId: string
  controlPlaneUrl: string
  /** image that contains this program in its working directory */
  image: string
  replicas: number
  secretName: string
  /** other settings, as environment variables */
  settings: Record<string, string>
}

/** Key of the Secret's data and name of the setting. */
export const SECRET_KEY = 'CONTROL_PLANE_API_KEY'
const PORT = 8081
/** server-side apply needs `create` for an absent object and `patch` for an existing one */
const MANAGE = ['get', 'list', 'watch', 'create', 'patch', 'delete']

/** RBAC rules of a listener in a watched namespace, one per API group and set of verbs. */
export const LISTENER_RULES = [
  { apiGroups: [''], resources: ['secrets', 'services', 'persistentvolumeclaims'], verbs: MANAGE },
  { apiGroups: ['apps'], resources: ['deployments', 'statefulsets'], verbs: MANAGE },
  { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: MANAGE },
  { apiGroups: ['networking.k8s.io'], resources: ['ingresses', 'networkpolicies'], verbs: MANAGE },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: MANAGE },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
  { apiGroups: [''], resources: ['events'], verbs: ['list'] },
] satisfies V1PolicyRule[]

export type ListenerObject = V1ServiceAccount | V1Role | V1RoleBinding | V1Deployment

export function listenerManifest(options: ManifestOptions): ListenerObject[] {
  const { name, namespace, watched } = options
  const account: V1ServiceAccount = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace, labels: labelsOf(options) },
  }
  return [account, ...watched.flatMap((where) => rightsIn(where, options)), deploymentOf(options)]
}

/** Not `managed-by: pilothouse`: the listener selects its deployments' objects by that label. */
const labelsOf = ({ name, listenerId }: ManifestOptions) => ({
  'app.kubernetes.io/name': 'pilothouse-listener',
  'app.kubernetes.io/instance': name,
  'pilothouse.dev/listener-id': listenerId,
})

function rightsIn(where: string, options: ManifestOptions): [V1Role, V1RoleBinding] {
  const { name, namespace } = options
  const metadata = { name, namespace: where, labels: labelsOf(options) }
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  return [
    { apiVersion, kind: 'Role', metadata, rules: LISTENER_RULES },
    {
      apiVersion,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  ]
}

function deploymentOf(options: ManifestOptions): V1Deployment {
  const { name, namespace, replicas } = options
  const labels = labelsOf(options)
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: { 'app.kubernetes.io/instance': name } },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: name,
          // it releases its leases within 10 s
          terminationGracePeriodSeconds: 30,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 1000,
            runAsGroup: 1000,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          affinity: {
            podAntiAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [
                {
                  weight: 100,
                  podAffinityTerm: {
                    topologyKey: 'kubernetes.io/hostname',
                    labelSelector: { matchLabels: { 'app.kubernetes.io/instance': name } },
                  },
                },
              ],
            },
          },
          containers: [containerOf(options)],
          volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '64Mi' } }],
        },
      },
    },
  }
}

function containerOf(options: ManifestOptions): V1Container {
  return {
    name: 'listener',
    image: options.image,
    command: ['node', 'src/start/start.mjs', 'cli', 'listener'],
    env: environmentOf(options),
    ports: [{ name: 'health', containerPort: PORT }],
    startupProbe: { httpGet: { path: '/healthz', port: 'health' }, periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: { httpGet: { path: '/healthz', port: 'health' }, periodSeconds: 20, timeoutSeconds: 5 },
    readinessProbe: { httpGet: { path: '/readyz', port: 'health' }, periodSeconds: 10, timeoutSeconds: 5 },
    resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    // cache of tsx
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
  }
}

function environmentOf({ controlPlaneUrl, listenerId, secretName, settings }: ManifestOptions): V1EnvVar[] {
  const values = {
    NODE_ENV: 'production',
    CONTROL_PLANE_URL: controlPlaneUrl,
    LISTENER_ID: listenerId,
    ...settings,
    LISTENER_PORT: String(PORT),
  }
  return [
    ...Object.entries(values).map(([name, value]) => ({ name, value })),
    { name: SECRET_KEY, valueFrom: { secretKeyRef: { name: secretName, key: SECRET_KEY } } },
  ]
}
