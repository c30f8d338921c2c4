/** A row's requests of the last hour: how many a minute, how many failed, and a small line. */
import { memo, useContext } from 'react'
import { number, percent } from '../../components/metrics/format.ts'
import classes from './deployments.module.css'
import type { Row } from './row-pages.ts'
import { type Traffic as RowTraffic, TrafficContext } from './use-traffic.ts'

/** From here on the error rate stands out. */
const BAD_ERROR_RATE = 0.01

export const Traffic = memo(function Traffic({ row: { id } }: { row: Row }) {
  const traffic = useContext(TrafficContext).get(id)
  if (!traffic) return null
  const { perMinute, errorRate, steps } = traffic
  const isBad = errorRate !== null && errorRate >= BAD_ERROR_RATE
  return (
    <div className={classes.pair} title="Requests of the last hour">
      <span className={classes.rate}>
        {perMinute === 0 ? 'no requests' : `${number(perMinute)} / min`}
        {perMinute > 0 && <Sparkline steps={steps} />}
      </span>
      {errorRate !== null && (
        <span className={classes.small} data-bad={isBad}>
          {isBad && '⚠ '}
          {percent(errorRate)} errors
        </span>
      )}
    </div>
  )
})

const WIDTH_PX = 48
const HEIGHT_PX = 16

/** The text next to it says the same. A step without a value interrupts the line. */
function Sparkline({ steps }: Pick<RowTraffic, 'steps'>) {
  const highest = Math.max(...steps.map((one) => one ?? 0)) || 1
  const place = (value: number, i: number) =>
    `${((i / Math.max(steps.length - 1, 1)) * WIDTH_PX).toFixed(1)} ${(HEIGHT_PX - 1 - (value / highest) * (HEIGHT_PX - 2)).toFixed(1)}`
  const path = steps
    .map((value, i) => (value === null ? '' : `${i > 0 && steps[i - 1] !== null ? 'L' : 'M'}${place(value, i)}`))
    .join('')
  return (
    <svg className={classes.sparkline} width={WIDTH_PX} height={HEIGHT_PX} aria-hidden>
      <path d={path} />
    </svg>
  )
}
