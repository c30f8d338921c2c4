/** The query string of a deployment's page: the time that its charts show. */
import { isRange, type RangeName } from '../../components/metrics/ranges.ts'

export interface DeploymentSearch {
  range?: RangeName
}

/** Ignores an invalid range. */
export const deploymentSearch = ({ range }: Record<string, unknown>): DeploymentSearch =>
  isRange(range) ? { range } : {}
