/** A cluster-internal Service. Only an Ingress publishes a deployment. */

import { selectorOf } from '../objects/names.ts'
import type { Manifest } from '../objects/types.ts'
import { type Labelled, objectMetadata } from './metadata.ts'

export function service(
  name: string,
  labelled: Labelled,
  port: { name: string; port: number; target: number },
): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: objectMetadata(name, labelled),
    spec: {
      type: 'ClusterIP',
      selector: selectorOf(labelled.deployment.deploymentId, labelled.component),
      // the protocol is part of the key of a port in server-side apply
      ports: [{ name: port.name, port: port.port, targetPort: port.target, protocol: 'TCP' }],
    },
  }
}
