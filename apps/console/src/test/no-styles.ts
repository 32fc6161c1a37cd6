// No styles: tests of components look at roles and texts.
export {};
