/**
 * Renders the agent's Redis, a channel between server and queue. The image must have redis-server and redis-cli
 * and run as any user: it writes only below /data, which is world-writable.
 */
import type { EffectiveSpec } from '../../../domain/protocol/protocol.ts'
import { DATABASE_KEYS, namesOf, selectorOf } from '../objects/names.ts'
import type { DeploymentRef, Manifest, RenderOptions } from '../objects/types.ts'
import { infrastructurePodMetadata, type Labelled, objectMetadata } from './metadata.ts'
import { service } from './network.ts'
import { infrastructurePod } from './pod.ts'
import { amountsOf, resources } from './resources.ts'
import { CACHE_PORT } from './secrets.ts'
import { lockedDown, onlyUser } from './security.ts'
import { hashed, patched } from './template.ts'

/** Per MB of the memory limit. Redis needs the rest for buffers; without it the kernel kills Redis. */
const DATA_BYTES_PER_MB = 750_000

export function cache(deployment: DeploymentRef, spec: EffectiveSpec, options: RenderOptions): Manifest[] {
  const { cache: name, database } = namesOf(deployment.deploymentId)
  const labelled: Labelled = { deployment, spec, component: 'cache' }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: objectMetadata(name, labelled),
      spec: {
        replicas: 1,
        paused: false,
        minReadySeconds: 0,
        revisionHistoryLimit: 2,
        // Two pods would be two separate memories behind one address. Not `Recreate`: with it the API server refuses
        // an object whose `rollingUpdate` someone else has set, so drift could never be repaired.
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
        selector: { matchLabels: selectorOf(deployment.deploymentId, 'cache') },
        template: hashed(
          patched(
            { metadata: infrastructurePodMetadata(labelled), spec: pod(database, spec, options) },
            options.patches.cache,
          ),
        ),
      },
    },
    service(name, labelled, { name: 'redis', port: CACHE_PORT, target: CACHE_PORT }),
  ]
}

function pod(secret: string, spec: EffectiveSpec, { redisImage, podUser, defaults }: RenderOptions) {
  const amounts = amountsOf('cache', spec, defaults)
  const password = { secretKeyRef: { name: secret, key: DATABASE_KEYS.cachePassword } }
  return {
    ...infrastructurePod(spec),
    terminationGracePeriodSeconds: 10,
    securityContext: onlyUser(podUser),
    containers: [
      {
        name: 'redis',
        image: redisImage,
        args: redisArgs(amounts.memoryLimit ?? null),
        env: [
          { name: 'REDIS_PASSWORD', valueFrom: password },
          { name: 'REDISCLI_AUTH', valueFrom: structuredClone(password) },
        ],
        ports: [{ name: 'redis', containerPort: CACHE_PORT, protocol: 'TCP' }],
        ...resources(amounts),
        readinessProbe: { exec: { command: ['redis-cli', 'ping'] }, periodSeconds: 3, timeoutSeconds: 5 },
        securityContext: lockedDown(),
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      },
    ],
    volumes: [{ name: 'data', emptyDir: {} }],
  }
}

function redisArgs(limitMb: number | null): string[] {
  // queue data must not be evicted silently: a full cache refuses writes
  const bound = limitMb ? ['--maxmemory', String(limitMb * DATA_BYTES_PER_MB), '--maxmemory-policy', 'noeviction'] : []
  // Kubernetes replaces this with the variable's value
  const password = ['--requirepass', '$(REDIS_PASSWORD)']
  return ['redis-server', '--dir', '/data', '--save', '', '--appendonly', 'no', ...password, ...bound]
}
