/** Connects to the cluster of the settings, and makes the runtime in it: what a listener works on. */
import type { Logger } from 'pino'
import type { Cluster } from '../dataplane/runtimes/kubernetes/cluster/cluster.ts'
import { connectCluster } from '../dataplane/runtimes/kubernetes/cluster/connect-cluster.ts'
import { createKubernetesRuntime } from '../dataplane/runtimes/kubernetes/runtime.ts'
import type { Runtime } from '../dataplane/runtimes/runtime.ts'
import { ConfigError, type ParsedSettings } from '../platform/config/config.ts'
import type { KUBERNETES_SETTINGS } from '../platform/config/settings.ts'

/** Where deployments live. */
export interface Place {
  /** its `close` ends the connection to the cluster, too */
  runtime: Runtime
  /** What is wrong with it now, for people; null: nothing. */
  problem(): string | null
}

/**
 * `namespace`: of deployments that name none; null: those can't be worked on. Throws ConfigError when the kubeconfig is
 * of no use; the API server need not be there yet.
 */
export async function createPlace(
  settings: ParsedSettings<typeof KUBERNETES_SETTINGS>,
  namespace: string | null,
  log: Logger,
): Promise<Place> {
  const cluster = await connect(settings.KUBECONFIG, log)
  const runtime = createKubernetesRuntime({
    cluster,
    render: {
      postgresImage: settings.POSTGRES_IMAGE,
      redisImage: settings.REDIS_IMAGE,
      ingressDomain: settings.INGRESS_DOMAIN ?? null,
      ingressClass: settings.INGRESS_CLASS ?? null,
      ingressTlsSecret: settings.INGRESS_TLS_SECRET ?? null,
      storageClass: settings.STORAGE_CLASS ?? null,
    },
    volumePolicy: settings.VOLUME_POLICY,
    namespace,
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

async function connect(kubeconfig: string | undefined, log: Logger): Promise<Cluster> {
  try {
    return await connectCluster({ ...(kubeconfig ? { kubeconfig } : {}), log })
  } catch (cause) {
    const said = (cause as Error).message.replace(/\.$/, '')
    throw new ConfigError(`The cluster can't be used: ${said}. See KUBECONFIG.`, { cause })
  }
}
