/**
 * Renders the agent's Postgres: one replica on its own volume. The image must be official or compatible: it reads
 * POSTGRES_* and PGDATA, and runs as any user. See README.md.
 */
import type { EffectiveSpec } from '../../../domain/protocol/protocol.ts'
import { DATABASE_KEYS, namesOf, selectorOf } from '../objects/names.ts'
import type { DeploymentRef, Manifest, RenderOptions } from '../objects/types.ts'
import { infrastructurePodMetadata, type Labelled, objectMetadata } from './metadata.ts'
import { service } from './network.ts'
import { infrastructurePod } from './pod.ts'
import { amountsOf, gibibytes, resources } from './resources.ts'
import { DATABASE_PORT, DATABASE_USER } from './secrets.ts'
import { lockedDown, onlyUser } from './security.ts'
import { patched } from './template.ts'

/** Not the image's own volume path: some versions refuse to start with a mount there. */
const MOUNT = '/data'

export function database(deployment: DeploymentRef, spec: EffectiveSpec, options: RenderOptions): Manifest[] {
  const { database: name } = namesOf(deployment.deploymentId)
  const labelled: Labelled = { deployment, spec, component: 'database' }
  return [
    volumeClaim(name, labelled, options),
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: objectMetadata(name, labelled),
      spec: {
        replicas: 1,
        serviceName: name,
        // with OrderedReady, a pod that never becomes ready is not replaced when its template is fixed
        podManagementPolicy: 'Parallel',
        // with OnDelete or a partition, a change would never reach the pod
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
        revisionHistoryLimit: 2,
        selector: { matchLabels: selectorOf(deployment.deploymentId, 'database') },
        template: patched(
          { metadata: infrastructurePodMetadata(labelled), spec: pod(name, spec, options) },
          options.patches.database,
        ),
      },
    },
    service(name, labelled, { name: 'postgres', port: DATABASE_PORT, target: DATABASE_PORT }),
  ]
}

/** Not a claim template of the StatefulSet: that can't be resized and outlives a teardown. */
function volumeClaim(name: string, labelled: Labelled, { storageClass }: RenderOptions): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: objectMetadata(name, labelled),
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: gibibytes(labelled.spec.db_storage_gi) } },
      ...(storageClass === null ? {} : { storageClassName: storageClass }),
    },
  }
}

/** Postgres reserves three connections for superusers by default, and does not start without others. */
function connections(max: number): string[] {
  const reserved = max > 3 ? [] : ['-c', 'superuser_reserved_connections=0']
  return ['-c', `max_connections=${max}`, ...reserved]
}

function pod(name: string, spec: EffectiveSpec, { postgresImage, podUser, defaults }: RenderOptions) {
  return {
    ...infrastructurePod(spec),
    // a checkpoint of a busy database takes time
    terminationGracePeriodSeconds: 120,
    securityContext: onlyUser(podUser),
    containers: [
      {
        name: 'postgres',
        image: postgresImage,
        args: connections(spec.db_max_connections),
        env: [
          { name: 'PGDATA', value: `${MOUNT}/pgdata` },
          { name: 'POSTGRES_USER', value: DATABASE_USER },
          { name: 'POSTGRES_DB', value: DATABASE_USER },
          { name: 'POSTGRES_PASSWORD', valueFrom: { secretKeyRef: { name, key: DATABASE_KEYS.password } } },
        ],
        ports: [{ name: 'postgres', containerPort: DATABASE_PORT, protocol: 'TCP' }],
        ...resources(amountsOf('database', spec, defaults)),
        // over TCP: while the image initialises a new volume, its server listens only on the socket. No liveness
        // probe: it would kill a Postgres that recovers after a crash, and a dead one exits by itself.
        readinessProbe: {
          exec: { command: ['pg_isready', '-h', '127.0.0.1', '-U', DATABASE_USER, '-d', DATABASE_USER] },
          periodSeconds: 3,
          timeoutSeconds: 5,
        },
        securityContext: lockedDown(),
        volumeMounts: [
          { name: 'data', mountPath: MOUNT },
          { name: 'run', mountPath: '/var/run/postgresql' },
          { name: 'tmp', mountPath: '/tmp' },
          { name: 'shm', mountPath: '/dev/shm' },
        ],
      },
    ],
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: name } },
      { name: 'run', emptyDir: {} },
      { name: 'tmp', emptyDir: {} },
      // parallel queries use shared memory, and a container runtime gives only 64 MB
      { name: 'shm', emptyDir: { medium: 'Memory' } },
    ],
  }
}
