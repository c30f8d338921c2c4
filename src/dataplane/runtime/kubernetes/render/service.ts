/** A Service inside the cluster. Nothing here is published outside of it but by an Ingress. */
import type { Manifest } from '../types.ts'
import { type Marked, objectMetadata } from './metadata.ts'
import { selectorOf } from './names.ts'

export function service(name: string, marked: Marked, port: { name: string; port: number; target: number }): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: objectMetadata(name, marked),
    spec: {
      type: 'ClusterIP',
      selector: selectorOf(marked.owner.deploymentId, marked.component),
      // the protocol is part of the key by which server-side apply finds a port
      ports: [{ name: port.name, port: port.port, targetPort: port.target, protocol: 'TCP' }],
    },
  }
}
