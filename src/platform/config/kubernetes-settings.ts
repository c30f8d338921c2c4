/** Settings of the Kubernetes runtime, for a listener and for a server with RUNTIME=kubernetes. */
import { z } from 'zod'
import { podClasses, podPatches } from './pod-patches.ts'
import {
  amount,
  annotations,
  appsUrl,
  cores,
  domain,
  doorService,
  gateway,
  image,
  integer,
  k8sName,
  k8sNameOfDeployment,
  podUser,
  type SettingsTable,
  text,
  url,
} from './setting-types.ts'

/** The same limits as in a resource spec (docs/deployments.md#resource-spec). */
const cpu = cores(0.1, 8)
const cpuLimit = amount(0.1, 16)
const memory = integer(1, 100_000_000)
const memoryLimit = amount(1, 100_000_000)

/** Defaults for values that a resource spec omits ([Resources](../../../docs/kubernetes.md#resources)). */
const DEFAULT_SETTINGS = {
  DEFAULT_CPU: [cpu, '0.2'],
  DEFAULT_CPU_LIMIT: [cpuLimit, '2'],
  DEFAULT_MEMORY_MB: [memory, '256'],
  DEFAULT_MEMORY_LIMIT_MB: [memoryLimit, '2000'],
  DEFAULT_DB_CPU: [cpu, '0.1'],
  DEFAULT_DB_CPU_LIMIT: [cpuLimit, '1'],
  DEFAULT_DB_MEMORY_MB: [memory, '256'],
  DEFAULT_DB_MEMORY_LIMIT_MB: [memoryLimit, '1000'],
  DEFAULT_CACHE_CPU: [cpu, '0.1'],
  DEFAULT_CACHE_CPU_LIMIT: [cpuLimit, '0.5'],
  DEFAULT_CACHE_MEMORY_MB: [memory, '64'],
  DEFAULT_CACHE_MEMORY_LIMIT_MB: [memoryLimit, '512'],
  DEFAULT_SIDECAR_CPU: [cpu, '0.1'],
  DEFAULT_SIDECAR_CPU_LIMIT: [cpuLimit, '1'],
  DEFAULT_SIDECAR_MEMORY_MB: [memory, '64'],
  DEFAULT_SIDECAR_MEMORY_LIMIT_MB: [memoryLimit, '512'],
} as const satisfies SettingsTable

export const KUBERNETES_SETTINGS = {
  KUBECONFIG: [text.optional()],
  POSTGRES_IMAGE: [image, 'postgres:17'],
  REDIS_IMAGE: [image, 'redis:7'],
  POD_SECURITY: [z.enum(['baseline', 'restricted'], { error: 'must be baseline or restricted' }), 'baseline'],
  POD_USER: [podUser, '999'],
  ...DEFAULT_SETTINGS,
  TERMINATION_GRACE_SECONDS: [integer(0, 3600), '180'],
  QUEUE_TERMINATION_GRACE_SECONDS: [integer(0, 3600), '600'],
  PRE_STOP_SECONDS: [integer(0, 300), '10'],
  KEDA_NAMESPACE: [k8sName.optional()],
  QUEUE_BACKLOG_QUERY: [text, "SELECT count(*) FROM runs WHERE status = 'pending'"],
  QUEUE_BACKLOG_PROMETHEUS_URL: [url.optional()],
  QUEUE_BACKLOG_PROMETHEUS_QUERY: [
    text,
    'max(lg_api_num_pending_runs{namespace="{namespace}",pod=~"ph-{deployment_id}-server-.*"})',
  ],
  QUEUE_PROGRESS_QUERY: [
    text,
    "SELECT md5(string_agg(run_id, ',' ORDER BY run_id)) FROM runs WHERE status = 'running'",
  ],
  QUEUE_STALL_SECONDS: [integer(0, 86_400), '900'],
  NETWORK_POLICIES: [z.enum(['all', 'database', 'none'], { error: 'must be all, database or none' }), 'all'],
  POD_PATCHES: [podPatches.prefault('{}')],
  POD_CLASSES: [podClasses.prefault('{}')],
  STORAGE_CLASS: [k8sName.optional()],
  VOLUME_POLICY: [z.enum(['delete', 'keep'], { error: 'must be delete or keep' }), 'delete'],
  APPS_URL: [appsUrl.optional()],
  DOOR_NAMESPACE: [k8sName.optional()],
  DOOR_SERVICE: [doorService.optional()],
  GATEWAY: [gateway.optional()],
  INGRESS_DOMAIN: [domain.optional()],
  INGRESS_CLASS: [k8sName.optional()],
  INGRESS_TLS_SECRET: [k8sNameOfDeployment.optional()],
  INGRESS_ANNOTATIONS: [annotations.prefault('{}')],
} as const satisfies SettingsTable
