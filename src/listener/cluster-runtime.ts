/** Connects to the cluster of the settings and creates the Kubernetes runtime. */
import type { Logger } from 'pino'
import { type Cluster, connectCluster } from '../dataplane/kubernetes/cluster/cluster.ts'
import { createKubernetesRuntime } from '../dataplane/kubernetes/deployment/runtime.ts'
import type { Amounts, RenderOptions, ResourceDefaults } from '../dataplane/kubernetes/objects/types.ts'
import type { Runtime, SourceBuilder } from '../dataplane/runtimes/runtime.ts'
import { ConfigError, type ParsedSettings } from '../platform/config/config.ts'
import type { KUBERNETES_SETTINGS } from '../platform/config/kubernetes-settings.ts'
import type { TELEMETRY_SETTINGS } from '../platform/config/telemetry-settings.ts'

export interface ClusterRuntime {
  /** its `close` also closes the connection to the cluster */
  runtime: Runtime
  /** Problem of the cluster for users; null: none. */
  problem(): string | null
}

/**
 * `namespace`: default namespace; null: none. `images`: builds images; null: no builds. Throws ConfigError for an
 * unusable kubeconfig. The API server may be unavailable.
 */
export async function createClusterRuntime(
  settings: ParsedSettings<typeof KUBERNETES_SETTINGS & typeof TELEMETRY_SETTINGS>,
  namespace: string | null,
  log: Logger,
  images: SourceBuilder | null = null,
  pullCredentials?: RenderOptions['pullCredentials'],
): Promise<ClusterRuntime> {
  const cluster = await connect(settings.KUBECONFIG, log)
  const { QUEUE_BACKLOG_QUERY: backlogQuery, QUEUE_PROGRESS_QUERY: progressQuery } = settings
  // outside of the cluster it reaches no databases
  const stallSeconds = cluster.podNamespace === null ? 0 : settings.QUEUE_STALL_SECONDS
  const runtime = createKubernetesRuntime({
    cluster,
    render: {
      ...renderOptions(settings),
      queueLookNamespace: stallSeconds > 0 ? cluster.podNamespace : null,
      otlpEndpoint: settings.OTEL_EXPORTER_OTLP_ENDPOINT,
      ...(pullCredentials ? { pullCredentials } : {}),
    },
    volumePolicy: settings.VOLUME_POLICY,
    queues: { backlogQuery, progressQuery, stallSeconds },
    namespace,
    images,
    log,
  })
  return {
    problem: () => cluster.problem(),
    runtime: {
      ...runtime,
      async close() {
        await runtime.close()
        await cluster.close()
      },
    },
  }
}

export function renderOptions(settings: ParsedSettings<typeof KUBERNETES_SETTINGS>): RenderOptions {
  return {
    postgresImage: settings.POSTGRES_IMAGE,
    redisImage: settings.REDIS_IMAGE,
    podSecurity: settings.POD_SECURITY,
    podUser: settings.POD_USER,
    defaults: resourceDefaults(settings),
    patches: settings.POD_PATCHES,
    classes: settings.POD_CLASSES,
    graceSeconds: {
      server: settings.TERMINATION_GRACE_SECONDS,
      queue: settings.QUEUE_TERMINATION_GRACE_SECONDS,
    },
    preStopSeconds: settings.PRE_STOP_SECONDS,
    queueBacklogQuery: settings.QUEUE_BACKLOG_QUERY,
    prometheusUrl: settings.QUEUE_BACKLOG_PROMETHEUS_URL ?? null,
    prometheusQuery: settings.QUEUE_BACKLOG_PROMETHEUS_QUERY,
    kedaNamespace: settings.KEDA_NAMESPACE ?? null,
    queueLookNamespace: null,
    networkPolicies: settings.NETWORK_POLICIES,
    appsUrl: settings.APPS_URL ?? null,
    doorNamespace: settings.DOOR_NAMESPACE ?? null,
    doorService: settings.DOOR_SERVICE ?? null,
    gateway: settings.GATEWAY ?? null,
    ingressDomain: settings.INGRESS_DOMAIN ?? null,
    ingressClass: settings.INGRESS_CLASS ?? null,
    ingressTlsSecret: settings.INGRESS_TLS_SECRET ?? null,
    ingressAnnotations: settings.INGRESS_ANNOTATIONS,
    storageClass: settings.STORAGE_CLASS ?? null,
  }
}

function resourceDefaults(settings: ParsedSettings<typeof KUBERNETES_SETTINGS>): ResourceDefaults {
  const amounts = (prefix: '' | 'DB_' | 'CACHE_' | 'SIDECAR_'): Amounts => {
    const cpu = settings[`DEFAULT_${prefix}CPU`]
    const memory = settings[`DEFAULT_${prefix}MEMORY_MB`]
    return {
      cpu,
      cpuLimit: notBelow(cpu, settings[`DEFAULT_${prefix}CPU_LIMIT`]),
      memory,
      memoryLimit: notBelow(memory, settings[`DEFAULT_${prefix}MEMORY_LIMIT_MB`]),
    }
  }
  return { agent: amounts(''), database: amounts('DB_'), cache: amounts('CACHE_'), sidecar: amounts('SIDECAR_') }
}

/** A raised request also raises a lower limit. */
const notBelow = (request: number, limit: number | null) => (limit === null ? null : Math.max(request, limit))

async function connect(kubeconfig: string | undefined, log: Logger): Promise<Cluster> {
  try {
    return await connectCluster({ ...(kubeconfig ? { kubeconfig } : {}), log })
  } catch (cause) {
    const reason = (cause as Error).message.replace(/\.$/, '')
    throw new ConfigError(`The cluster can't be used: ${reason}. See KUBECONFIG.`, { cause })
  }
}
