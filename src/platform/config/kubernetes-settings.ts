/** Settings of the Kubernetes runtime, for a listener and for a server with RUNTIME=kubernetes. */
import { z } from 'zod'
import { podClasses, podPatches } from './pod-patches.ts'
import {
  amount,
  annotations,
  cores,
  domain,
  image,
  integer,
  k8sName,
  k8sNameOfDeployment,
  podUser,
  type SettingsTable,
} from './setting-types.ts'

/** The same limits as in a resource spec (docs/deployments.md#resource-spec). */
const cpu = cores(0.1, 8)
const cpuLimit = amount(0.1, 16)
const memory = integer(1, 100_000_000)
const memoryLimit = amount(1, 100_000_000)

/** Defaults for values that a resource spec omits ([Resources](../../../docs/kubernetes.md#resources)). */
const DEFAULT_SETTINGS = {
  DEFAULT_CPU: [cpu, '0.2', 'cores requested by each server and queue whose `resource_spec` names none'],
  DEFAULT_CPU_LIMIT: [cpuLimit, '2', 'most cores of these, if it names no request either; 0: no limit'],
  DEFAULT_MEMORY_MB: [memory, '256', 'MB requested by each server and queue whose `resource_spec` names none'],
  DEFAULT_MEMORY_LIMIT_MB: [memoryLimit, '2000', 'most MB of these, if it names no request either; 0: no limit'],
  DEFAULT_DB_CPU: [cpu, '0.1', 'the same for databases: cores requested'],
  DEFAULT_DB_CPU_LIMIT: [cpuLimit, '1', 'most cores of a database; 0: no limit'],
  DEFAULT_DB_MEMORY_MB: [memory, '256', 'MB requested by a database'],
  DEFAULT_DB_MEMORY_LIMIT_MB: [memoryLimit, '1000', 'most MB of a database; 0: no limit'],
  DEFAULT_CACHE_CPU: [cpu, '0.1', 'the same for caches: cores requested'],
  DEFAULT_CACHE_CPU_LIMIT: [cpuLimit, '0.5', 'most cores of a cache; 0: no limit'],
  DEFAULT_CACHE_MEMORY_MB: [memory, '64', 'MB requested by a cache'],
  DEFAULT_CACHE_MEMORY_LIMIT_MB: [memoryLimit, '512', 'most MB of a cache; 0: no limit'],
  DEFAULT_SIDECAR_CPU: [
    cpu,
    '0.1',
    'the same for each init container and sidecar of a `resource_spec`: cores requested',
  ],
  DEFAULT_SIDECAR_CPU_LIMIT: [cpuLimit, '1', 'most cores of one; 0: no limit'],
  DEFAULT_SIDECAR_MEMORY_MB: [memory, '64', 'MB requested by one'],
  DEFAULT_SIDECAR_MEMORY_LIMIT_MB: [memoryLimit, '512', 'most MB of one; 0: no limit'],
} as const satisfies SettingsTable

export const KUBERNETES_SETTINGS = {
  KUBECONFIG: [
    z.string().min(1).optional(),
    null,
    'kubeconfig file of the cluster. None: the service account of the pod, or `~/.kube/config`',
  ],
  POSTGRES_IMAGE: [image, 'postgres:17', 'image of the database of each deployment'],
  REDIS_IMAGE: [image, 'redis:7', 'image of the cache of each deployment'],
  POD_SECURITY: [
    z.enum(['baseline', 'restricted'], { error: 'must be baseline or restricted' }),
    'baseline',
    'Pod Security Standard that all pods follow ([Pod Security](kubernetes.md#pod-security)). `restricted`: no image runs as root, and deployments that ask for more are refused',
  ],
  POD_USER: [podUser, '999', 'user id of databases and caches; `any`: assigned by the cluster, as OpenShift does'],
  ...DEFAULT_SETTINGS,
  TERMINATION_GRACE_SECONDS: [
    integer(0, 3600),
    '180',
    'time that a server has after SIGTERM before it is killed ([How pods end](kubernetes.md#how-pods-end))',
  ],
  QUEUE_TERMINATION_GRACE_SECONDS: [integer(0, 3600), '600', 'the same for a queue, which finishes its runs'],
  PRE_STOP_SECONDS: [
    integer(0, 300),
    '10',
    'delay before SIGTERM, until no more traffic arrives; 0: SIGTERM comes immediately',
  ],
  NETWORK_POLICIES: [
    z.enum(['all', 'database', 'none'], { error: 'must be all, database or none' }),
    'all',
    'NetworkPolicies of each deployment ([Network](kubernetes.md#network)). `database`: databases and caches answer their own agents alone; `all`: and agents that name no service account don’t reach the metadata address of their node',
  ],
  POD_PATCHES: [
    podPatches.prefault('{}'),
    null,
    'changes to the pod templates of `server`, `queue`, `database` and `cache`, as JSON ([Patches](kubernetes.md#patches-of-pods))',
  ],
  POD_CLASSES: [
    podClasses.prefault('{}'),
    null,
    'classes that `resource_spec.class` may name, as JSON: by name the changes to the pod templates of `server` and `queue` ([Classes](kubernetes.md#classes))',
  ],
  STORAGE_CLASS: [k8sName.optional(), null, 'storage class of the databases. None: the default of the cluster'],
  VOLUME_POLICY: [
    z.enum(['delete', 'keep'], { error: 'must be delete or keep' }),
    'delete',
    'what happens to the volume of a database when its deployment is deleted',
  ],
  INGRESS_DOMAIN: [
    domain.optional(),
    null,
    'domain of the deployments’ Ingresses. None: only deployments with a `custom_url` get one',
  ],
  INGRESS_CLASS: [k8sName.optional(), null, 'class of these Ingresses. None: the default of the cluster'],
  INGRESS_TLS_SECRET: [
    k8sNameOfDeployment.optional(),
    null,
    'TLS secret for names below `INGRESS_DOMAIN`, in the namespace of the deployment. With `{deployment}` in it each deployment has its own, for a `custom_url` elsewhere, too ([Certificates](kubernetes.md#certificates)). None: plain http',
  ],
  INGRESS_ANNOTATIONS: [
    annotations.prefault('{}'),
    null,
    'annotations of these Ingresses (issuer, time-outs), as JSON. Those of a `resource_spec` win',
  ],
} as const satisfies SettingsTable
