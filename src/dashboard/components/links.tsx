/** The kit's links and buttons, as links of the router: typed addresses, loaded ahead when they are pointed at. */
import { Anchor, type AnchorProps, Button, type ButtonProps, NavLink, type NavLinkProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, Ref } from 'react'

type Native<Props> = Props &
  Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof Props> & { ref?: Ref<HTMLAnchorElement> }

export const LinkTo = createLink((props: Native<AnchorProps>) => <Anchor {...props} />)
export const ButtonTo = createLink((props: Native<ButtonProps>) => <Button component="a" {...props} />)
export const NavLinkTo = createLink((props: Native<NavLinkProps>) => <NavLink component="a" {...props} />)
