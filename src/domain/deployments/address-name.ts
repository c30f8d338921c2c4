/** The name of a deployment in its address: a DNS label (RFC 1035, 2.3.1) that is unique in the installation. */
import { randomBytes } from 'node:crypto'

/** Another deployment has the name. */
export class AddressNameTaken extends Error {}

/** leaves room for the suffix, and for what APPS_URL adds to the name: a label has at most 63 characters */
const MAX_LENGTH = 40

/** Makes a label from the deployment's name. `isTaken`: another deployment has it, so it gets a random suffix. */
export function addressNameOf(name: string, isTaken: boolean): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LENGTH)
    .replace(/^-+|-+$/g, '')
  return [plain || 'agent', ...(isTaken || !plain ? [randomBytes(4).toString('hex')] : [])].join('-')
}
